# SPDX-License-Identifier: GPL-2.0-or-later
"""
The kernel's selftest ntb, part by part, and what it leaves out.

From the kernel tree in use: ntb_test.sh on the RC with the EP as its remote
host.

What the tree's drivers lack is looked up in their source: a part that they
cannot do is skipped with the line that says so, in any other tree it is run.
"""

import dataclasses
import re
import secrets

import pytest

from lablib import endpoint, kernel_log, ntb_script, selftests, vntb

VNTB = "drivers/pci/endpoint/functions/pci-epf-vntb.c"
EPF = "drivers/ntb/hw/epf/ntb_hw_epf.c"
TOOL = "drivers/ntb/test/ntb_tool.c"

# Enough for ntb_perf and ntb_msi_test.
SCRATCHPADS = 32

# What keeps a part of the script from running from a side: a file of the
# kernel, a regular expression of the line, and what it means.
LACKS = {
    ("link", "ep"): (
        VNTB, r"^static int vntb_epf_link_disable\([^)]*\)\n\{\n\treturn 0;",
        "vntb_epf_link_disable() does nothing, so the EP cannot take the "
        "link down"),
    ("message", "rc"): (
        EPF, r"^static const struct ntb_dev_ops ntb_epf_ops = \{"
             r"((?!msg_count)[^}])*\}",
        "ntb_epf_ops has no msg_count: there are no message registers"),
    ("message", "ep"): (
        VNTB, r"^static const struct ntb_dev_ops vntb_epf_ops = \{"
              r"((?!msg_count)[^}])*\}",
        "vntb_epf_ops has no msg_count: there are no message registers"),
    ("mw", "both"): (
        TOOL, r'sscanf\(buf, "%llu:%zu"',
        "peer_mw_trans takes an address in decimal, ntb_test.sh writes it in "
        "hex"),
    ("msi", "rc"): (
        VNTB, r"^\t0,\t\t/\* Reserved, Capabilities Pointer \*/",
        "the EP's virtual function has no MSI that the RC could send, and "
        "ntb_msi_setup_mws() does not survive that"),
    ("msi", "ep"): (
        EPF, r"request_irq\(pci_irq_vector\(pdev, i\), ntb_epf_vec_isr",
        "ntb_epf_init_isr() takes every MSI of the RC's function, none is left "
        "for NTB MSI"),
}


def lack(built, part, side):
    """The line of the kernel that keeps @part from running, or None."""
    for key in ((part, side), (part, "both")):
        if key in LACKS:
            name, pattern, meaning = LACKS[key]
            text = (built.kernel_src / name).read_text("utf-8")
            line = re.search(pattern, text, re.M)
            if line:
                number = text.count("\n", 0, line.start()) + 1
                return f"{name}:{number}: {meaning}"
    return None


@dataclasses.dataclass
class Ntb:
    """A pair whose NTB devices have no client, and the kernel's script."""
    ep: object
    rc: object
    script: ntb_script.NtbScript

    def tool(self, role):
        """ntb_tool's directory in the guest of @role."""
        vm = getattr(self, role)
        return f"/sys/kernel/debug/ntb_tool/{vm.output('ls /sys/bus/ntb/devices')}"


@pytest.fixture(scope="module")
def ntb(built, two_vm, make_pair):
    # For each scratchpad the script goes to the other VM and back.
    attributes = two_vm.function.attributes | {"spad_count": SCRATCHPADS}
    tp = dataclasses.replace(
        two_vm, function=dataclasses.replace(two_vm.function,
                                             attributes=attributes),
        ep=dataclasses.replace(two_vm.ep, modules=()),
        rc=dataclasses.replace(two_vm.rc, modules=("ntb_hw_epf",)))
    try:
        selftests.folder(built.kernel_src, "ntb")
    except selftests.NoSelftests as e:
        pytest.skip(str(e))
    with make_pair(tp, peer_shell=True) as both:
        both.boot()
        endpoint.configure(both.ep, tp)
        vntb.attach(both.rc, tp)
        yield Ntb(both.ep, both.rc,
                  ntb_script.NtbScript(both, built.kernel_src))


def passed(said, title):
    """Whether the script says that the test of @title has passed."""
    return re.search(rf"^Running {title} tests? .*\n((?!Running).*\n)*?"
                     r"  Passed$", said, re.M)


@pytest.fixture
def ntb_tool(ntb):
    """The NTB with ntb_tool on both sides and its link up."""
    ntb.script.clean()
    for vm in (ntb.rc, ntb.ep):
        vm.run("modprobe ntb_tool")
    ntb.rc.run(f"echo Y >{ntb.tool('rc')}/link")
    for role in ("rc", "ep"):
        getattr(ntb, role).run(f"echo Y >{ntb.tool(role)}/peer0/link_event")
    yield ntb
    ntb.script.clean()


def test_the_remote_host_is_the_other_vm(ntb):
    mark = secrets.token_hex(8)
    ntb.ep.run(f"echo {mark} >/tmp/mark")
    assert ntb.rc.output("ssh ep cat /tmp/mark") == mark
    result = ntb.rc.run("ssh ep 'echo one; echo \"t w o\" >&2; exit 7'",
                        check=False)
    assert (result.status, result.stdout, result.stderr) == (
        7, "one\n", "t w o\n")


def test_ports(ntb):
    said = ntb.script.run("", "rc", ("ntb_tool",))
    assert passed(said, "port")
    assert "Local port 0 with index 0 on remote host" in said
    assert "Peer port 0 with index 0 on local host" in said


@pytest.mark.parametrize("side", ["rc", "ep"])
@pytest.mark.parametrize("part,title,group", [
    ("link", "link", "ntb_tool"), ("doorbell", "db", "ntb_tool"),
    ("scratchpad", "spad", "ntb_tool"), ("message", "msg", "ntb_tool"),
    ("mw", "mw0", "ntb_tool"), ("msi", "MSI interrupt", "ntb_msi")])
def test_part(ntb, built, part, title, group, side):
    reason = lack(built, part, side)
    if reason:
        pytest.skip(reason)
    said = ntb.script.run(part, side, (group,))
    assert passed(said, title), said


def test_pingpong(ntb):
    said = ntb.script.run("", "rc", ("ntb_pingpong",))
    assert passed(said, "ping pong"), said


def test_perf(ntb):
    # ntb_tool's group first: it is where the script learns of the ports.
    said = ntb.script.run("", "rc", ("ntb_tool", "ntb_perf"))
    copied = re.findall(r"^ *\d+: copied (\d+) bytes in \d+ usecs", said, re.M)
    assert copied == [str(1 << ntb_script.PERF_ORDER)] * 2, said
    assert passed(said, "local perf") and passed(said, "remote perf"), said


def test_whole_script(ntb, built):
    reasons = dict.fromkeys(filter(None, (
        lack(built, part, side) for part in ("link", "mw", "msi")
        for side in ("rc", "ep"))))
    if reasons:
        pytest.skip("its parts were run; the rest: " + "; ".join(reasons))
    said = ntb.script.run_all()
    assert "Running remote perf test without DMA" in said


@pytest.mark.parametrize("side,peer", [("rc", "ep"), ("ep", "rc")])
def test_window_of_ntb_tool_carries_data(ntb_tool, side, peer):
    """The script's mw test, both ways, with addresses as ntb_tool wants."""
    own, other = getattr(ntb_tool, side), getattr(ntb_tool, peer)
    inside = f"{ntb_tool.tool(side)}/peer0"
    outside = f"{ntb_tool.tool(peer)}/peer0"
    size = ntb_script.WINDOW
    own.run(f"echo {size} >{inside}/mw_trans0")
    try:
        told = own.output(f"cat {inside}/mw_trans0")
        address = int(re.search(r"DMA Address\s+(0x[0-9a-f]+)", told)[1], 16)
        other.run(f"echo {address}:{size} >{outside}/peer_mw_trans0")
        ends = ((own, f"{inside}/mw0"), (other, f"{outside}/peer_mw0"))
        for (writer, at), (reader, there) in (ends, ends[::-1]):
            wrote = writer.output(
                f"head -c {size} /dev/urandom >/tmp/window && "
                f"cat /tmp/window >{at} && sha256sum </tmp/window")
            assert reader.output(f"cat {there} | sha256sum") == wrote
    finally:
        # Linux 7.3 does not survive the removal of ntb_tool with windows.
        other.run(f"echo 0:0 >{outside}/peer_mw_trans0")
        own.run(f"echo 0 >{inside}/mw_trans0")


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_kernels_stay_sane(ntb, role):
    vm = getattr(ntb, role)
    kernel_log.check_leaks(vm)
    kernel_log.check(vm)
