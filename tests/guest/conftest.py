# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest suites share: one running pair, and the launcher itself."""

import argparse
import dataclasses
import functools
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO))
# The suites' labs are not the user's: their logs and records stay apart. Set
# before lablib.state is imported.
os.environ["VNTB_LAB_RUN_DIR"] = str(REPO / "build" / "run-tests")

from lablib import (cache, kernel_needs, kernel_tree,  # noqa: E402
                    pair, selftests, setup, stock_qemu, topology, traffic)

NO_KMEMLEAK = "this kernel has no kmemleak: that is for --kernel-debug"
OPTIONS = {"net": False, "gdb": False, "trace": None, "append": None,
           "msi_parent": True}


def _end(_signal, _frame):
    """Ended from outside: the fixtures still take down what they started."""
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, _end)


def ways(both):
    """Sender and receiver, for either direction."""
    return ((both.ep, both.rc), (both.rc, both.ep))


def assert_traffic(both, mib=8):
    """Pings and a file of @mib MiB cross both ways."""
    for source, to in ways(both):
        traffic.first_ping(source, to)
        ping = traffic.ping(source, to, 10)
        assert (ping.sent, ping.received) == (10, 10)
        assert traffic.transfer(source, to, mib).ok()


@functools.cache
def ensured(patched=False):
    """What setup made, for the options that `./lab test` was given."""
    parser = argparse.ArgumentParser()
    setup.add_arguments(parser)
    words = os.environ.get("VNTB_LAB_OPTIONS", "")
    return setup.ensure(parser.parse_args(shlex.split(words)),
                        patched=patched)


def patched():
    """ensured(True); skips the test where the patches do not apply."""
    try:
        return ensured(True)
    except kernel_tree.DoesNotApply as e:
        pytest.skip(str(e))


def pytest_generate_tests(metafunc):
    """
    A test that takes `kernel_case` is made for every case of the selftest
    that its module names as KERNEL_SELFTEST, in the kernel tree in use.
    """
    if "kernel_case" not in metafunc.fixturenames:
        return
    try:
        cases = selftests.cases(ensured().kernel_src,
                                metafunc.module.KERNEL_SELFTEST)
    except selftests.NoSelftests as e:
        cases = [pytest.param(None, id="all",
                              marks=pytest.mark.skip(reason=str(e)))]
    metafunc.parametrize("kernel_case", cases,
                         ids=lambda case: case and case.name)


def need_stock_qemu(built):
    """Skip the test when there is no QEMU of others to play the RC."""
    if built.rc_qemu:
        return
    try:
        with cache.locked():
            stock_qemu.fetch()
    except stock_qemu.NotAvailable as e:
        pytest.skip(str(e))


@pytest.fixture(scope="session")
def built():
    """What setup made, for the options that `./lab test` was given."""
    return ensured()


@pytest.fixture(scope="session")
def patched_built():
    """The same with the patched kernel; `./lab test` has made it before."""
    return patched()


@pytest.fixture(scope="session")
def two_vm():
    """The topology that the suites run."""
    return topology.load(topology.DEFAULT)


@pytest.fixture(scope="session")
def ntb_kernel(built, two_vm):
    """Skips what needs the NTB where the kernel's drivers cannot form it."""
    try:
        kernel_needs.check(built, two_vm)
    except kernel_needs.Lacking as e:
        pytest.skip(str(e))


@pytest.fixture(scope="module")
def both(built, two_vm, ntb_kernel):
    """A pair with its NTB formed; a module's tests share it."""
    with pair.running(two_vm, OPTIONS, built) as running:
        running.boot()
        running.form()
        # Whoever sends first waits for ARP.
        traffic.first_ping(running.rc, running.ep)
        yield running


@pytest.fixture(scope="session")
def make_pair(two_vm):
    """
    Context managers of pairs that differ: make_pair(msi_parent=False). The
    first argument is another topology than two-vm. It skips the test when the
    topology wants a patched kernel and that cannot do what it is for.
    """
    def make(tp=two_vm, **changes):
        made = patched() if tp.patched else ensured()
        if tp.patched:
            try:
                kernel_needs.check(made, tp)
            except kernel_needs.Lacking as e:
                pytest.skip(str(e))
        ep = {k: v for k, v in changes.items()
              if k in ("msi_parent", "dma_channels", "dma_map")}
        tp = dataclasses.replace(tp, ep=dataclasses.replace(tp.ep, **ep))
        return pair.running(tp, OPTIONS | changes, made)
    return make


def _without_kernel(words: list[str]) -> list[str]:
    """@words without the options that choose a kernel, and their values."""
    kept, rest = [], iter(words)
    for word in rest:
        if not word.startswith("--kernel-"):
            kept.append(word)
        elif word != "--kernel-debug":
            next(rest)
    return kept


@dataclasses.dataclass
class Launcher:
    """`./lab` with a run directory and a socket directory of its own."""
    run_dir: Path
    sockets: Path

    def environment(self, **more: str) -> dict[str, str]:
        """What a lab of this launcher finds in its environment."""
        return os.environ | {"VNTB_LAB_RUN_DIR": str(self.run_dir),
                             "VNTB_LAB_SOCKET_DIR": str(self.sockets)} | more

    def words(self, verb: str, *args: str) -> list[str]:
        """The command line of a verb, with the options of this test run."""
        own = shlex.split(os.environ.get("VNTB_LAB_OPTIONS", ""))
        if "--kernel-image" in args:
            own = _without_kernel(own)
        return [str(REPO / "lab"), verb, *own, *args]

    def run(self, verb: str, *args: str, **more: str
            ) -> subprocess.CompletedProcess:
        """Run a verb to its end."""
        return subprocess.run(self.words(verb, *args), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env=self.environment(**more), timeout=300)

    def start(self, verb: str, *args: str) -> subprocess.Popen:
        """Start a verb in a session of its own."""
        def interruptible():
            # A shell's background job, as this may be, ignores SIGINT.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(self.words(verb, *args), text=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT,
                                env=self.environment(), start_new_session=True,
                                preexec_fn=interruptible)

    def leftovers(self) -> list[str]:
        """Processes and sockets that this launcher's labs have left."""
        found = [str(path) for path in self.sockets.iterdir()]
        mark = str(self.sockets).encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                line = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if b"qemu" in line and mark in line:
                found.append(f"pid {process.name}")
        return found


@pytest.fixture
def launcher(tmp_path_factory, built):
    """A launcher whose labs are ended when the test is over."""
    # Short: the paths of sockets are limited.
    base = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    (base / "s").mkdir()
    own = Launcher(base / "r", base / "s")
    yield own
    own.run("down")
    left = own.leftovers()
    subprocess.run(["rm", "-rf", str(base)], check=True)
    assert not left
