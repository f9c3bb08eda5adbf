# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong is told in one line, cleaned up, and fails the command."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lablib import topology


# What runs the verbs that refuse a kernel which cannot form the NTB.
needs_ntb = pytest.mark.usefixtures("ntb_kernel")


def closing_line(result):
    """The error that a command ended with; it must have failed."""
    assert result.returncode == 1, result.stderr
    lines = result.stderr.strip().splitlines()
    errors = [line for line in lines if line.startswith("lab: error: ")]
    assert len(errors) == 1, result.stderr
    assert lines[-1] == errors[0]
    assert "Traceback" not in result.stderr
    return errors[0]


def topology_file(tmp_path, old, new):
    """The two-vm topology with one thing changed."""
    text = (topology.DIRECTORY / "two-vm.toml").read_text()
    assert old in text
    file = tmp_path / "changed.toml"
    file.write_text(text.replace(old, new))
    return str(file)


def test_unknown_topology(launcher):
    line = closing_line(launcher.run("run", "--topology", "three-vm"))
    assert "three-vm" in line and "two-vm" in line


def test_topology_with_a_mistake(launcher, tmp_path):
    file = topology_file(tmp_path, "cpus = 2", "cpu-count = 2")
    line = closing_line(launcher.run("run", "--topology", file))
    assert file in line and "cpus" in line


def test_unknown_controller(launcher, tmp_path):
    file = topology_file(tmp_path, "[ep]", '[ep]\ncontroller = "cadence"')
    line = closing_line(launcher.run("run", "--topology", file))
    assert "cadence" in line and "rcar-gen4, dw-plat" in line


@needs_ntb
def test_two_labs_at_once(launcher):
    assert launcher.run("up", "--no-ntb").returncode == 0
    line = closing_line(launcher.run("run"))
    assert "running already" in line and "./lab down" in line
    # The lab that runs has not been harmed.
    status = launcher.run("status")
    assert status.returncode == 0, status.stdout
    assert launcher.run("exec", "rc", "true").returncode == 0
    down = launcher.run("down")
    assert down.returncode == 0 and "ended ep and rc" in down.stdout
    assert launcher.leftovers() == []


def test_exec_without_a_lab(launcher):
    assert "no lab is running" in closing_line(
        launcher.run("exec", "rc", "true"))


def test_exec_gives_output_and_status(launcher, tmp_path):
    # A topology of the user's own, which exec has to find again.
    file = topology_file(tmp_path, "cpus = 2", "cpus = 1")
    assert launcher.run("up", "--no-ntb", "--topology", file).returncode == 0
    result = launcher.run("exec", "ep", "echo out; echo err >&2; exit 7")
    assert result.returncode == 7
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    piped = subprocess.run(launcher.words("exec", "rc", "sha256sum"),
                           input=b"x" * 300000, capture_output=True,
                           env=launcher.environment(), timeout=60)
    assert piped.stdout.startswith(
        subprocess.run(["sha256sum"], input=b"x" * 300000,
                       capture_output=True).stdout[:64])


def test_stale_sockets_and_record(launcher):
    up = launcher.run("up", "--no-ntb")
    assert up.returncode == 0, up.stderr
    for found in launcher.leftovers():
        if found.startswith("pid "):
            os.kill(int(found[4:]), signal.SIGKILL)
    assert launcher.leftovers()
    again = launcher.run("up", "--no-ntb")
    assert again.returncode == 0, again.stderr
    assert "cleared away" in again.stderr
    assert len([f for f in launcher.leftovers() if "pid" not in f]) == 1


@needs_ntb
def test_socket_path_too_long(launcher, tmp_path):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    line = closing_line(launcher.run("run", VNTB_LAB_SOCKET_DIR=str(deep)))
    assert "107" in line and "VNTB_LAB_SOCKET_DIR" in line
    assert list(deep.iterdir()) == []


def test_trace_of_an_event_that_is_not_there(launcher):
    line = closing_line(launcher.run("up", "--no-ntb", "--trace", "rcar*",
                                     "--trace", "nosuch_*"))
    assert "'nosuch_*'" in line and "-trace help" in line


def test_trace_is_in_the_logs(launcher):
    up = launcher.run("up", "--no-ntb", "--trace", "pcie_cable_*")
    assert up.returncode == 0, up.stderr
    for role in ("ep", "rc"):
        log = launcher.run_dir / "logs" / f"{role}-qemu.log"
        assert "pcie_cable_send " in log.read_text()


def test_exec_that_takes_too_long(launcher):
    assert launcher.run("up", "--no-ntb").returncode == 0
    result = launcher.run("exec", "--timeout", "1", "rc",
                          "echo early; sleep 4321")
    assert result.returncode == 124
    assert result.stdout == "early\n"
    assert "did not end within 1 s" in result.stderr
    left = launcher.run("exec", "rc", "pgrep -f 'sleep 432[1]'")
    assert left.returncode == 1, left.stdout


@contextlib.contextmanager
def console_of(launcher, vm):
    """`./lab console` on a terminal: the process and both of its ends."""
    keyboard, terminal = os.openpty()
    try:
        with subprocess.Popen(launcher.words("console", vm), stdin=terminal,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=launcher.environment()) as console:
            assert b"Ctrl-] leaves" in console.stderr.readline()
            yield console, keyboard, terminal
            os.write(keyboard, b"\x1d")
            console.communicate(timeout=60)
        assert console.returncode == 0
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_console_passes_both_ways(launcher):
    assert launcher.run("up", "--no-ntb").returncode == 0
    with console_of(launcher, "ep") as (console, keyboard, terminal):
        os.write(keyboard, b"echo $((6 * 7))-$(uname -n)\r")
        assert b"42-ep" in (line.strip() for line in console.stdout)
        second = subprocess.run(launcher.words("console", "ep"), text=True,
                                stdin=terminal, capture_output=True,
                                env=launcher.environment(), timeout=60)
        assert "in use" in closing_line(second)


def test_console_without_a_terminal(launcher):
    line = closing_line(launcher.run("console", "ep"))
    assert "terminal" in line and "./lab exec ep" in line


def test_image_for_another_machine(launcher, tmp_path):
    image = tmp_path / "bzImage"
    image.write_bytes(b"\0" * 0x202 + b"HdrS" + b"\0" * 4096)
    line = closing_line(launcher.run("run", "--kernel-image", str(image)))
    assert str(image) in line and "arm64" in line


def test_rc_emulator_without_the_device(launcher, built):
    # The lab's own QEMU has our RC end in its place.
    line = closing_line(launcher.run("run", "--topology", "stock-rc",
                                     "--rc-qemu", str(built.qemu)))
    assert str(built.qemu) in line and "vfio-user-pci" in line


def test_rc_emulator_that_is_not_there(launcher):
    line = closing_line(launcher.run("up", "--topology", "stock-rc",
                                     "--rc-qemu", "/none/such"))
    assert "/none/such" in line


def test_stock_rc_without_ntb(launcher):
    line = closing_line(launcher.run("up", "--topology", "stock-rc",
                                     "--no-ntb"))
    assert "--no-ntb" in line and "stock-rc" in line
    assert launcher.leftovers() == []


def test_bench_that_needs_a_kernel_tree(launcher, tmp_path):
    image = tmp_path / "Image"
    image.touch()
    line = closing_line(launcher.run("bench", "window", "--kernel-image",
                                     str(image)))
    assert "window" in line and "--kernel-src" in line


@needs_ntb
def test_guest_that_never_boots(launcher):
    line = closing_line(launcher.run("run", "--timeout", "20", "--append",
                                     "rdinit=/usr/bin/sleep -- infinity"))
    assert "console" in line and "-console.log" in line
    assert launcher.leftovers() == []


@needs_ntb
def test_guest_that_panics_is_told_at_once(launcher):
    line = closing_line(launcher.run("run", "--timeout", "250", "--append",
                                     "rdinit=/usr/bin/true"))
    # Its panic ended the wait, not the time it was given.
    assert "panicked" in line and "-console.log" in line


@needs_ntb
def test_qemu_that_refuses_its_command_line(launcher, tmp_path):
    file = topology_file(tmp_path, 'cpu = "cortex-a57"', 'cpu = "z80"')
    line = closing_line(launcher.run("run", "--topology", file))
    assert "z80" in line and "-qemu.log" in line


@needs_ntb
def test_endpoint_configuration_refused(launcher, tmp_path):
    file = topology_file(tmp_path, "num_mws = 1", "num_mws = 9")
    line = closing_line(launcher.run("run", "--topology", file))
    assert "num_mws" in line and "Invalid argument" in line
    assert "ep-console.log" in line
    assert launcher.leftovers() == []


@needs_ntb
def test_doorbell_count_refused_by_the_driver(launcher, tmp_path):
    file = topology_file(tmp_path, "db_count = 16", "db_count = 99")
    line = closing_line(launcher.run("run", "--topology", file))
    assert "db_count" in line and "Invalid argument" in line


@needs_ntb
def test_binding_refused_in_the_words_of_the_driver(launcher, tmp_path):
    # BAR 1 is none that this controller has.
    file = topology_file(tmp_path, "mw1_bar = 2", "mw1_bar = 1")
    line = closing_line(launcher.run("run", "--topology", file))
    assert "binding the function" in line and "kernel: " in line


@needs_ntb
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["boot both VMs", "form the NTB", "ping"])
def test_interrupted(launcher, moment, number):
    process = launcher.start("run")
    for line in process.stdout:
        if line.startswith(moment):
            break
    os.kill(process.pid, number)
    rest = process.stdout.read()
    assert process.wait(60) == 130, rest
    assert "Traceback" not in rest
    assert launcher.leftovers() == []


@needs_ntb
def test_interrupted_while_qemu_starts(launcher):
    # As early as there is anything to leave behind.
    process = launcher.start("up")
    state = launcher.run_dir / "state.json"
    while not (state.exists() and re.search(r'"pid": \d', state.read_text())):
        assert process.poll() is None
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert launcher.leftovers() == []
    assert not Path(state).exists()


@needs_ntb
def test_run_that_is_killed_takes_its_vms_along(launcher):
    process = launcher.start("run")
    for line in process.stdout:
        if line.startswith("form the NTB"):
            break
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while any(f.startswith("pid") for f in launcher.leftovers()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # Its sockets are cleared away by the next command.
    launcher.run("down")
    assert launcher.leftovers() == []


@needs_ntb
def test_up_that_is_killed_is_not_taken_for_a_lab(launcher):
    process = launcher.start("up")
    for line in process.stdout:
        if line.startswith("form the NTB"):
            break
    process.kill()
    process.communicate(timeout=60)
    status = launcher.run("status")
    assert status.returncode == 1
    assert "not ready" in status.stdout
    # The next one clears it away.
    assert launcher.run("up", "--no-ntb").returncode == 0
    assert launcher.run("status").returncode == 0
    launcher.run("down")
    assert launcher.leftovers() == []


@pytest.mark.parametrize("seconds", ["0", "-1", "ten"])
@pytest.mark.parametrize("verb", ["run", "bench"])
def test_iperf3_of_no_length(launcher, verb, seconds):
    done = launcher.run(verb, "--seconds", seconds)
    assert done.returncode == 2
    assert "1 to 9999" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("limit", ["0", "-1", "inf", "nan", "1e10", "86401"])
def test_time_limit_that_is_none(launcher, limit):
    for words in (("run", "--timeout", limit),
                  ("exec", "--timeout", limit, "rc", "true")):
        done = launcher.run(*words)
        assert done.returncode == 2
        assert "86400" in done.stderr.splitlines()[-1]


def test_bench_does_not_measure_for_what_must_fail(launcher):
    done = launcher.run("bench", "--cpus", "0", "netdev")
    assert done.returncode == 2 and "--cpus" in done.stderr
    line = closing_line(launcher.run("bench", "--topology", "three-vm"))
    assert "three-vm" in line


@pytest.mark.parametrize("old, new, word", [
    ("vendorid = 0x1912\n", "", "vendorid"),
    ("deviceid = 0x0030", "deviceid = 0x100000000", "deviceid"),
    ("mw1 = 0x100000", "mw1 = -1", "mw1"),
    ('["ntb_hw_epf", "ntb_transport", "ntb_netdev"]', "[]", "modules")])
def test_function_that_cannot_be(launcher, tmp_path, old, new, word):
    file = topology_file(tmp_path, old, new)
    line = closing_line(launcher.run("run", "--topology", file))
    assert file in line and word in line


def test_option_of_exec_behind_the_vm(launcher):
    line = closing_line(launcher.run("exec", "rc", "--timeout", "3", "ls"))
    assert "before the VM" in line


def test_topology_file_that_is_not_there(launcher):
    line = closing_line(launcher.run("run", "--topology", "none/such.toml"))
    assert "none/such.toml" in line and "no such file" in line
