# SPDX-License-Identifier: GPL-2.0-or-later
"""Say what is running."""

import argparse
import json
from typing import Any, Optional

from lablib import state
from lablib.pair import Pair
from lablib import topology
from lablib.ui import LabError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """status has no options of its own."""


def _link(both: Pair, role: str) -> Optional[dict[str, Any]]:
    try:
        return {name: both.vm(role).cable(name)
                for name in ("link-up", "messages-sent", "messages-received",
                             "completion-timeouts")}
    except LabError:
        return None


def _vm(both: Pair, role: str) -> dict[str, Any]:
    vm = both.vm(role)
    process = both.st.vms.get(role)
    alive = vm.alive()
    return {"role": role, "running": alive,
            "pid": process.pid if process and alive else None,
            "cable": _link(both, role) if alive else None,
            "console": str(vm.console_log)}


def _line(vm: dict[str, Any]) -> str:
    if not vm["running"]:
        return f"  {vm['role']}  not running   console: {vm['console']}"
    cable = vm["cable"]
    link = ("link unknown" if cable is None else
            f"link {'up' if cable['link-up'] else 'down'}, "
            f"{cable['messages-sent']} messages sent, "
            f"{cable['messages-received']} received, "
            f"{cable['completion-timeouts']} completion timeouts")
    return f"  {vm['role']}  pid {vm['pid']}, {link}"


def main(args: argparse.Namespace) -> int:
    """Run the verb; the status is 0 when both VMs run and are ready."""
    st = state.load()
    if st is None:
        print(json.dumps({"running": False}) if args.json
              else "no lab is running; `./lab up` starts one")
        return 1
    both = Pair(topology.load(st.topology), st)
    vms = [_vm(both, role) for role in ("ep", "rc")]
    running = all(vm["running"] for vm in vms)
    if args.json:
        print(json.dumps({"running": running, "ready": not st.launcher,
                          "topology": st.topology, "sockets": st.sockets,
                          "vms": vms} | st.facts, indent=2))
    else:
        print(f"{st.topology}: Linux {st.facts['kernel_release']}, QEMU "
              f"{st.facts['qemu_version']}")
        for vm in vms:
            print(_line(vm))
        if st.abandoned():
            print("  not ready: what brought it up was killed; `./lab up` or "
                  "`./lab run` starts anew, `./lab down` ends it")
    return 0 if running and not st.abandoned() else 1
