# SPDX-License-Identifier: GPL-2.0-or-later
"""The launcher's own parts, without a VM."""

import argparse
import base64
import dataclasses
import fcntl
import gzip
import lzma
import os
import signal
import socket
import subprocess
import threading
import time
import types

import pytest

from lablib import (agent, apt, cache, endpoint, kernel_needs, observed, pair,
                    paths, state, stock_qemu, test_guest, topology, verb_clean)
from lablib.ui import LabError


@pytest.fixture
def changed(tmp_path):
    """Load the two-vm topology with a piece of its text replaced."""
    def load(old, new):
        text = (topology.DIRECTORY / "two-vm.toml").read_text()
        assert old in text
        file = tmp_path / "changed.toml"
        file.write_text(text.replace(old, new, 1))
        return topology.load(str(file))
    return load


def test_every_topology_loads():
    assert topology.DEFAULT in topology.names()
    for name in topology.names():
        assert topology.load(name).name == name


def test_file_is_found_again_from_anywhere(tmp_path, monkeypatch):
    file = tmp_path / "mine.toml"
    file.write_text((topology.DIRECTORY / "two-vm.toml").read_text())
    monkeypatch.chdir(tmp_path)
    tp = topology.load("mine.toml")
    monkeypatch.chdir("/")
    assert topology.load(tp.name) == tp


def test_attributes_keep_the_order_of_the_file():
    names = list(topology.load("two-vm").function.attributes)
    # configfs refuses the size of a window before the number of windows.
    assert names.index("num_mws") < names.index("mw1")


@pytest.mark.parametrize("old, new, word", [
    ("cpus = 2", "cpus = 0", "cpus"),
    ("cpus = 2", "cpus = true", "cpus"),
    ("cpus = 2", "cpu-count = 2", "lacks 'cpus'"),
    ('memory = "1G"', 'memory = "1 GB"', "512M"),
    ('memory = "1G"', 'memory = "1G"\ncolour = 1', "colour"),
    ("completion-timeout = 2000", "completion-timeout = -1", "0 or more"),
    ("10.77.0.2/24", "10.78.0.2/24", "one network"),
    ("10.77.0.2/24", "10.77.0.1/24", "same address"),
    ("10.77.0.2/24", "10.77.0.300/24", "address"),
    ("db_count = 16", '"../x" = 16', "no name of an attribute"),
    ('driver = "pci_epf_vntb"', 'driver = "x; reboot"', "driver"),
    ("[cable]", "[cable", "changed.toml"),
    ("dma-channels = 4", "dma-channels = 9", "0 to 8"),
    ("dma-channels = 4", 'dma-map = "legacy"', "for the controller dw-plat"),
    ("dma-channels = 4", 'controller = "dw-plat"\ndma-map = "edma"',
     "unrolled, legacy, hdma-compat, hdma-native, none"),
    ("dma-channels = 4", 'controller = "dw-plat"\ndma-map = "hdma-native"\n'
     "dma-channels = 65", "0 to 64"),
    ("[rc]", '[rc]\ndma-map = "legacy"', "unknown key 'dma-map'"),
    ("msi-parent = true", 'qemu = "stock"', "qemu"),
    ("[rc]", '[rc]\nqemu = "theirs"', "theirs"),
])
def test_mistakes_are_named(changed, old, new, word):
    with pytest.raises(LabError) as e:
        changed(old, new)
    assert word in str(e.value)
    assert "\n" not in str(e.value)


def program(tmp_path, script):
    """An executable that is a shell script."""
    file = tmp_path / "qemu-system-aarch64"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


# What a QEMU answers to --version, -cpu help and -device vfio-user-pci,help
QEMU = """case "$*" in
--version) echo 'QEMU emulator version 11.1.3 (Debian)';;
*-cpu*) echo 'Available CPUs:'; echo '  cortex-a57';;
*vfio-user-pci,help) echo 'socket=<SocketAddress>';;
esac"""


def test_rc_emulator_is_known(tmp_path):
    path = program(tmp_path, QEMU)
    assert stock_qemu.check(path) == stock_qemu.Emulator(path, "11.1.3")
    # A CPU may have properties.
    assert stock_qemu.check(path, "cortex-a57,pauth-impdef=on").path == path


@pytest.mark.parametrize("script, word", [
    ("echo hello", "no QEMU"),
    ("exit 1", "no QEMU"),
    (QEMU.replace("cortex-a57", "Cascadelake"), "no aarch64 machine"),
    (QEMU.replace("11.1.3", "10.0.13").replace("socket", "Device not found"),
     "QEMU 10.0.13 has no device vfio-user-pci"),
], ids=["another program", "one that fails", "another CPU", "no device"])
def test_programs_that_cannot_play_the_rc(tmp_path, script, word):
    path = program(tmp_path, script)
    with pytest.raises(LabError, match=word) as e:
        stock_qemu.check(path)
    assert str(path) in str(e.value)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("name, data", [
    ("a.ko.gz", gzip.compress(b"module" * 99)[:-9]),
    ("a.ko.gz", b"not gzip"),
    ("a.ko.xz", lzma.compress(b"module" * 99)[:-9]),
    ("a.ko.xz", b"not xz")])
def test_damaged_modules_are_named(tmp_path, name, data):
    file = tmp_path / "lib" / "modules" / "7.3" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    kernel = types.SimpleNamespace(modules=tmp_path, kernel_release="7.3")
    with pytest.raises(LabError, match=f"{name}: damaged") as e:
        kernel_needs._Modules(kernel).content("a")
    assert "\n" not in str(e.value)


def test_rc_emulator_that_may_not_be_executed(tmp_path):
    path = program(tmp_path, QEMU)
    path.chmod(0o644)
    with pytest.raises(LabError, match="may not be executed"):
        stock_qemu.check(path)
    with pytest.raises(LabError, match="no such program"):
        stock_qemu.check(tmp_path / "none")
    path.chmod(0o755)
    path.write_bytes(b"\x7fELF, but not really")
    with pytest.raises(LabError, match="[Ff]ormat"):
        stock_qemu.check(path)


def test_mirror_without_an_rc_emulator(tmp_path, monkeypatch):
    def none(suite, _base, _tar):
        raise apt.NotInSuite(suite)
    monkeypatch.setattr(stock_qemu.paths, "CACHE", tmp_path)
    monkeypatch.setattr(stock_qemu, "_download", none)
    with pytest.raises(stock_qemu.NotAvailable) as e:
        stock_qemu.fetch()
    for suite, _base in stock_qemu.SUITES:
        assert suite in str(e.value)
    assert "--rc-qemu" in str(e.value)
    assert list((tmp_path / "stock-qemu").iterdir()) == []


@pytest.mark.parametrize("attributes", [{}, {"mw1": 0x1000}])
def test_a_driver_without_attributes_needs_no_group(attributes):
    scripts = []

    class Guest:
        role, console_log = "ep", "log"

        def run(self, command, **_options):
            scripts.append(command)
            return agent.Result(0, "", "")

    tp = topology.load("two-vm")
    function = dataclasses.replace(tp.function, attributes=attributes)
    endpoint.configure(Guest(), dataclasses.replace(tp, function=function))
    wants = any("has no attributes" in script for script in scripts)
    assert wants == bool(attributes)


INTERRUPTS = """\
           CPU0       CPU1
 13:        900        800     GICv3  27 Level     arch_timer
{0}
IPI0:       100        200       Rescheduling interrupts
"""


@pytest.mark.parametrize("line, found", [
    ("", ("polled", 0)),
    (" 57:  3  40  ITS-pMSI-7e000000.pcie-ep  0 Edge  pci_epf_vntb_db\n"
     " 58:  0   1  ITS-pMSI-7e000000.pcie-ep  1 Edge  pci_epf_vntb_db",
     ("ITS", 44)),
    (" 49:  7   0  GICv3 150 Level  dw-edma-core:0, pci_epf_vntb_db",
     ("embedded", 7)),
])
def test_doorbells_are_what_the_guest_says(line, found):
    class Guest:
        def output(self, _command):
            return INTERRUPTS.format(line)

    assert observed.doorbells(Guest()) == found


def test_process_is_told_from_a_later_one_with_its_pid():
    with subprocess.Popen(["sleep", "60"]) as child:
        process = state.Process.of(child.pid)
        assert process.alive()
        stranger = state.Process(child.pid, process.start - 1)
        assert not stranger.alive()
        stranger.send(signal.SIGKILL)
        assert child.poll() is None
        process.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    assert not process.alive()


# The first thread ends alone; the file is locked until the other one does.
_HALF_DEAD = """
import ctypes, fcntl, os, sys, threading, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
def last():
    time.sleep(1)
    os._exit(0)
threading.Thread(target=last).start()
print(flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)
"""


def test_a_process_has_ended_when_its_last_thread_has(tmp_path):
    with subprocess.Popen(["/usr/bin/python3", "-c", _HALF_DEAD,
                           str(tmp_path / "lock")],
                          stdout=subprocess.PIPE) as child:
        process = state.Process.of(child.pid)
        child.stdout.readline()
        while process.alive():
            time.sleep(0.01)
        process.wait(30)
        with open(tmp_path / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_gdb_is_told_how_to_attach(capsys):
    args = argparse.Namespace(net=False, gdb=True, trace=None, append="quiet")
    tp = topology.load("two-vm")
    options = pair.options_of(args, tp)
    assert options["append"] == "nokaslr quiet"
    built = argparse.Namespace(vmlinux="/k/vmlinux")
    both = pair.Pair(tp, state.State("two-vm", "/s", options, {}, {}), built)
    both.tell_gdb()
    said = capsys.readouterr().err
    for role in ("ep", "rc"):
        assert (f"{role}: gdb-multiarch /k/vmlinux -ex 'target remote "
                f"/s/gdb-{role}.sock'\n") in said


def aged(path, days):
    """Make @path look as if it was last written @days ago."""
    then = time.time() - days * 86400
    os.utime(path, (then, then))


def test_clean_old_removes_what_was_not_used(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    entries = {name: tmp_path / name for name in
               ("kernel/new", "kernel/old", "qemu/used", "qemu/unused",
                "sources/linux_2", "sources/linux_1", "rootfs/any")}
    for entry in entries.values():
        entry.mkdir(parents=True)
    cache.mark_used(entries["qemu/used"])
    cache.mark_used(entries["qemu/unused"])
    aged(entries["qemu/unused"] / ".used", 40)
    (tmp_path / "sources/linux.json").write_text('{"dir": "linux_2"}')
    for name, entry in entries.items():
        if name != "kernel/new":
            aged(entry, 40)
    words = argparse.Namespace(old=30, all=False, json=False)
    assert verb_clean.main(words) == 0
    gone = {name for name, entry in entries.items() if not entry.exists()}
    assert gone == {"kernel/old", "qemu/unused", "sources/linux_1"}
    said = capsys.readouterr().out
    assert all(str(entries[name]) in said for name in gone)


def test_sockets_are_private(tmp_path, monkeypatch):
    monkeypatch.setenv("VNTB_LAB_SOCKET_DIR", "/tmp")
    made = state.make_sockets()
    assert os.stat(made).st_mode & 0o777 == 0o700
    os.rmdir(made)


class FakeGuest:
    """The guest's end of an agent socket, scripted by a test."""

    def __init__(self, path, script):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(1)
        self.lines = []
        self.thread = threading.Thread(target=self._serve, args=(script,),
                                       daemon=True)
        self.thread.start()

    def _serve(self, script):
        peer, _ = self.server.accept()
        # What an earlier session left unread.
        peer.sendall(b"O 5 aGVsb")
        for line in peer.makefile("rb"):
            self.lines.append(line)
            if line.startswith(b"S "):
                peer.sendall(b"\n" + line)
            elif line == b"E\n":
                script(peer)


def said(kind, data):
    return b"%c %d %s\n" % (kind, len(data), base64.b64encode(data))


def test_agent_returns_output_and_status(tmp_path):
    def script(peer):
        peer.sendall(said(b"O", b"out\n") + said(b"R", b"err\n") + b"D 3\n")
    guest = FakeGuest(tmp_path / "a", script)
    with agent.Agent("ep", [tmp_path / "a"], 10) as session:
        result = session.run("cmd", stdin=b"x" * 30000, check=False)
    assert (result.status, result.stdout, result.stderr) == (3, "out\n",
                                                             "err\n")
    command = next(line for line in guest.lines if line.startswith(b"X"))
    assert command == said(b"X", b"cmd")
    typed = b"".join(base64.b64decode(line.split()[2])
                     for line in guest.lines if line.startswith(b"I"))
    assert typed == b"x" * 30000


def test_agent_tells_a_failed_command(tmp_path):
    FakeGuest(tmp_path / "a", lambda peer: peer.sendall(
        said(b"R", b"first\nno such thing\n") + b"D 1\n"))
    with agent.Agent("rc", [tmp_path / "a"], 10) as session:
        with pytest.raises(agent.CommandError) as e:
            session.run("ls x")
    assert str(e.value) == "rc: `ls x` failed with status 1: no such thing"


def test_agent_tells_that_the_vm_has_gone(tmp_path):
    FakeGuest(tmp_path / "a",
              lambda peer: peer.shutdown(socket.SHUT_RDWR))
    with agent.Agent("rc", [tmp_path / "a"], 10) as session:
        with pytest.raises(agent.AgentError):
            session.run("sleep 1")


def test_dead_port_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(agent, "_PATIENCE", 0.1)
    # Nobody answers at the other end of the first one.
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "dead"))
    dead.listen(1)
    FakeGuest(tmp_path / "a", lambda peer: peer.sendall(b"D 0\n"))
    with agent.Agent("ep", [tmp_path / "dead", tmp_path / "a"], 10) as session:
        assert session.run("cmd").status == 0
        # The dead one has been let go of.
        with pytest.raises(agent.AgentError, match="does not answer"):
            agent.Agent("ep", [tmp_path / "dead"], 1)


def test_sessions_do_not_share_a_port(tmp_path):
    for name in "ab":
        FakeGuest(tmp_path / name, lambda peer: peer.sendall(b"D 0\n"))
    sockets = [tmp_path / "a", tmp_path / "b"]
    with agent.Agent("ep", sockets, 10), agent.Agent("ep", sockets, 10):
        with pytest.raises(agent.AgentError, match="in use"):
            agent.Agent("ep", sockets, 10)


def test_setup_that_has_nothing_to_do(launcher):
    setup = launcher.run("setup")
    assert setup.returncode == 0 and "building QEMU" not in setup.stderr


def test_every_suite_says_what_it_tests(launcher):
    lines = launcher.run("test", "--list").stdout.splitlines()
    about = dict(line.split(maxsplit=1) for line in lines)
    assert {"lint", "qtest", "qtest-asan", "qtest-tsan",
            *test_guest.suites()} == about.keys()
    assert all(len(line) < 100 and not line.endswith(".") for line in lines)
