# SPDX-License-Identifier: GPL-2.0-or-later
"""One virtual machine: its QEMU command line, its life, its monitor."""

import ctypes
import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Optional

from lablib import paths, state
from lablib.agent import PORTS, Agent, AgentError, AgentLost
from lablib.qmp import Qmp, QmpError
from lablib.topology import CONTROLLERS, Topology
from lablib.ui import LabError

# Linux lets a root port whose slot is empty sleep, with its hotplug interrupt
# off, and trusts that the port wakes it by a PME; QEMU's does not.
_KERNEL_WORDS = {"ep": "", "rc": " pcie_port_pm=off"}

# QOM paths of the two ends of the cable.
CABLE_END = {"ep": "/machine/peripheral/ep0", "rc": "/objects/cable0"}

# The network cards of a pair that was started with the option lan, and the
# largest MTU that an IPv4 packet can use.
LAN_MACS = {"ep": "52:54:00:78:00:01", "rc": "52:54:00:78:00:02"}
LAN_MTU = 65535

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class VmError(LabError):
    """A VM did not do what it should; the text names its logs."""


def _cable_arguments(topology: Topology, role: str, st: state.State
                     ) -> list[str]:
    cable = st.socket("cable")
    timeout = topology.completion_timeout
    if role == "ep":
        msi = st.options["msi_parent"]
        device = CONTROLLERS[topology.ep.controller]
        channels = topology.ep.dma_channels
        dma_map = f",edma={topology.ep.dma_map}" if topology.ep.dma_map else ""
        return ["-device", f"{device},id=ep0,socket={cable},"
                           f"completion-timeout={timeout},"
                           f"num-dma-wr-ch={channels},"
                           f"num-dma-rd-ch={channels},"
                           f"msi-parent={'on' if msi else 'off'}{dma_map}"]
    if topology.rc.qemu == "stock":
        return ["-device", "pcie-root-port,id=rp0,chassis=1,slot=1",
                "-device", json.dumps(
                    {"driver": "vfio-user-pci", "id": "function0",
                     "bus": "rp0",
                     "socket": {"type": "unix", "path": str(cable)}})]
    return ["-device", "pcie-root-port,id=rp0,chassis=1,slot=1,"
                       "attention-button=off",
            "-object", f"pcie-cable-rc,id=cable0,socket={cable},bus=rp0,"
                       f"completion-timeout={timeout},"
                       f"removal-grace={topology.removal_grace}"]


def _peer_arguments(role: str, st: state.State) -> list[str]:
    """The port between the guests, see lablib.peer_shell; the EP is first."""
    end = {"ep": ("server=on,wait=off", "vntb-lab.agent.peer"),
           "rc": ("server=off", "vntb-lab.peer")}
    chardev, name = end[role]
    return ["-chardev", f"socket,id=peer,path={st.socket('peer')},{chardev}",
            "-device", f"virtserialport,chardev=peer,name={name}"]


def _lan_arguments(role: str, st: state.State) -> list[str]:
    """
    A network of the two guests, see lablib.lan; the EP is first.

    A stream has one queue and takes no offloads from the guest (it has no
    virtio-net header), so that the largest MTU is the best there is.
    """
    server = "on" if role == "ep" else "off"
    return ["-netdev", f"stream,id=lan,server={server},addr.type=unix,"
                       f"addr.path={st.socket('lan')}",
            "-device", f"virtio-net-pci,netdev=lan,romfile=,"
                       f"host_mtu={LAN_MTU},mac={LAN_MACS[role]}"]


def _agent_sockets(st: state.State, role: str) -> list[Path]:
    return [st.socket(f"agent-{role}{i}") for i in range(PORTS)]


class Vm:
    """
    A QEMU of the lab, started by this process or by an earlier one.

    @st says where things are; @built is what `lablib.setup.ensure` returned
    and is needed by start() only.
    """

    def __init__(self, role: str, topology: Topology, st: state.State,
                 built: Any = None) -> None:
        self.role = role
        self.spec = topology.vm(role)
        self.topology = topology
        self.st = st
        self.built = built
        self.console_log = state.LOGS / f"{role}-console.log"
        self.qemu_log = state.LOGS / f"{role}-qemu.log"
        self._child: Optional[subprocess.Popen] = None
        self._pidfd: Optional[int] = None
        self._agent: Optional[Agent] = None

    # What QEMU is told.

    def command(self) -> list[str]:
        """The command line of QEMU."""
        st, spec = self.st, self.spec
        qemu = (self.built.qemu if spec.qemu == "lab"
                else st.options["rc_qemu"])
        argv = [str(qemu), "-name", f"vntb-lab-{self.role}",
                "-M", "virt,gic-version=3,memory-backend=ram",
                "-accel", "tcg,thread=multi", "-cpu", spec.cpu,
                "-smp", str(spec.cpus), "-m", f"{spec.memory}M",
                "-object", f"memory-backend-memfd,id=ram,size={spec.memory}M,"
                           "share=on",
                "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot",
                "-kernel", str(self.built.kernel),
                "-initrd", str(self.built.initramfs),
                "-append", f"console=ttyAMA0 panic=-1 vntb.role={self.role}"
                           + self._append(),
                "-chardev", f"socket,id=console,path={self.console_socket()},"
                            f"server=on,wait=off,logfile={self.console_log},"
                            "logappend=on",
                "-serial", "chardev:console",
                "-chardev", f"socket,id=qmp,path={self.qmp_socket()},"
                            "server=on,wait=off",
                "-mon", "chardev=qmp,mode=control",
                "-device", "virtio-serial-pci,romfile="]
        for i, path in enumerate(_agent_sockets(st, self.role)):
            argv += ["-chardev", f"socket,id=agent{i},path={path},server=on,"
                                 "wait=off",
                     "-device", f"virtserialport,chardev=agent{i},nr={i + 1},"
                                f"name=vntb-lab.agent.{i}"]
        if st.options.get("peer_shell"):
            argv += _peer_arguments(self.role, st)
        if st.options.get("lan"):
            argv += _lan_arguments(self.role, st)
        if st.options.get("net"):
            argv += ["-netdev", "user,id=user",
                     "-device", "virtio-net-pci,netdev=user,romfile="]
        if st.options.get("gdb"):
            argv += ["-chardev", f"socket,id=gdb,path={st.socket(f'gdb-{self.role}')},"
                                 "server=on,wait=off",
                     "-gdb", "chardev:gdb"]
        for pattern in st.options.get("trace") or []:
            argv += ["-trace", pattern]
        if st.options.get("cable", True):
            argv += _cable_arguments(self.topology, self.role, st)
        return argv

    def _append(self) -> str:
        # modprobe takes a module's parameters from there, however it is loaded.
        words = [f"{module}.{name}={value}"
                 for module, values in self.spec.parameters.items()
                 for name, value in values.items()]
        words += [self.built.kernel_words, self.st.options.get("append")]
        return _KERNEL_WORDS[self.role] + "".join(f" {word}" for word in words
                                                  if word)

    def console_socket(self) -> Path:
        """Where `lab console` attaches."""
        return self.st.socket(f"console-{self.role}")

    def qmp_socket(self) -> Path:
        """The monitor."""
        return self.st.socket(f"qmp-{self.role}")

    # Its life.

    def start(self, lock: state.Lock, tied: bool) -> None:
        """
        Start QEMU; it has its sockets when this returns.

        It holds on to @lock. When @tied it dies with this process.
        """
        argv = self.command()
        paths.ensure_dir(state.LOGS)
        # A VM that is started again goes on in the logs it has.
        mode = "wb" if self.role not in self.st.vms else "ab"
        open(self.console_log, mode).close()
        parent = os.getpid()

        def prepare() -> None:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            if tied:
                _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:
                    os._exit(1)

        with open(self.qemu_log, mode) as log, state.signals_held():
            # A signal between the fork and the record would lose the process.
            try:
                self._child = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    pass_fds=(lock.fd,), start_new_session=True,
                    preexec_fn=prepare, umask=0o077)
            except OSError as e:
                raise VmError(f"cannot run {argv[0]}: {e.strerror}") from e
            self._pidfd = os.pidfd_open(self._child.pid)
            self.st.vms[self.role] = state.Process.of(self._child.pid)
            self.st.save()
        self._await_monitor(10)

    def _await_monitor(self, timeout: float) -> None:
        # QEMU makes the sockets before anything else; until then the only
        # event to wait for is its end.
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.qmp_socket().exists():
                try:
                    with Qmp(self.qmp_socket(),
                             timeout=deadline - time.monotonic()):
                        return
                except QmpError:
                    if not self._ended(0.02):
                        continue
            if self._ended(0.02):
                raise VmError(self.why_ended())
        raise VmError(f"QEMU of {self.role} does not answer on its monitor; "
                      f"log: {self.qemu_log}")

    def _descriptor(self) -> Optional[int]:
        """A pidfd of its QEMU; None when that has gone."""
        if self._pidfd is None:
            process = self.st.vms.get(self.role)
            if process is None:
                return None
            try:
                fd = os.pidfd_open(process.pid)
            except OSError:
                return None
            if not process.alive():
                os.close(fd)
                return None
            self._pidfd = fd
        return self._pidfd

    def _ended(self, wait: float) -> bool:
        fd = self._descriptor()
        return fd is None or bool(select.select([fd], [], [], wait)[0])

    def alive(self) -> bool:
        """Whether its QEMU runs."""
        return not self._ended(0)

    def _reap(self) -> None:
        if self._agent:
            self._agent.close()
            self._agent = None
        if self._child:
            self._child.wait()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def kill(self) -> None:
        """Kill its QEMU at once, as a power cut would; returns when it is gone."""
        process = self.st.vms.get(self.role)
        if process and self._descriptor() is not None:
            process.send(signal.SIGKILL)
            self._ended(30)
        self._reap()
        self._child = None

    def stop(self, timeout: float = 5) -> None:
        """Tell QEMU to quit, or kill it when it does not within @timeout."""
        if self.alive():
            try:
                with Qmp(self.qmp_socket(), timeout) as qmp:
                    qmp.execute("quit")
                self._ended(timeout)
            except QmpError:
                pass
        self.kill()

    def why_ended(self) -> str:
        """One line about a VM that should run and does not."""
        console = _tail(self.console_log, 400)
        panic = [line for line in console if "Kernel panic" in line]
        if panic:
            why = panic[0].partition("Kernel panic")[2].partition(": ")[2]
            return (f"the kernel of {self.role} panicked: {why}; console: "
                    f"{self.console_log}")
        said = _tail(self.qemu_log, 20)
        status = self._child.poll() if self._child else None
        how = ("" if status is None else
               f" (killed by signal {-status})" if status < 0 else
               f" (status {status})")
        if said:
            return (f"QEMU of {self.role} ended{how}: {said[-1]}; "
                    f"log: {self.qemu_log}")
        return (f"QEMU of {self.role} ended{how} and said nothing; console: "
                f"{self.console_log}")

    # Talking to it.

    def session(self, timeout: float = 15) -> Agent:
        """A new session with its agent; the caller closes it."""
        return Agent(self.role, _agent_sockets(self.st, self.role), timeout,
                     self._descriptor())

    def _gone_after(self, error: AgentError) -> bool:
        """Whether @error came of the VM's end; QEMU hangs up before it ends."""
        return self._ended(5 if isinstance(error, AgentLost) else 0)

    def wait_boot(self, timeout: float) -> None:
        """Wait until the guest is up; says why when it is not in @timeout."""
        if self._agent is not None:
            return
        try:
            self._agent = self.session(timeout)
        except AgentError as e:
            if self._gone_after(e):
                raise VmError(self.why_ended()) from e
            said = [line for line in _tail(self.console_log, 20) if line]
            last = (f", the last line is: {_untimed(said[-1])}" if said
                    else ", which is empty: is this an arm64 kernel?")
            raise VmError(f"the guest of {self.role} did not boot within "
                          f"{timeout:.0f} s; console: {self.console_log}"
                          f"{last}") from e

    @property
    def agent(self) -> Agent:
        """The session this process keeps with the guest."""
        if self._agent is None:
            self._agent = self.session()
        return self._agent

    def run(self, command: str, **options: Any) -> Any:
        """Agent.run() that tells a VM that ended from a command that failed."""
        try:
            return self.agent.run(command, **options)
        except AgentError as e:
            if self._gone_after(e):
                raise VmError(self.why_ended()) from e
            raise

    def output(self, command: str, timeout: float = 60) -> str:
        """What @command prints, without the line end."""
        return self.run(command, timeout=timeout).stdout.rstrip("\n")

    def cable(self, name: str) -> Any:
        """
        A property of this end of the cable, e.g. "messages-sent"; a stock
        QEMU's end has none.
        """
        with Qmp(self.qmp_socket()) as qmp:
            return qmp.get(CABLE_END[self.role], name)


def _tail(path: Path, lines: int) -> list[str]:
    try:
        text = path.read_bytes()[-65536:].decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()
            ][-lines:]


def _untimed(line: str) -> str:
    return re.sub(r"^\[ *[\d.]+\] *", "", line)
