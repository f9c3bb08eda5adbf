# SPDX-License-Identifier: GPL-2.0-or-later
"""Form the NTB: configure the endpoint function, load drivers, bring up links."""

import re
import time

from lablib.agent import CommandError
from lablib.topology import Topology
from lablib.ui import LabError
from lablib.vm import Vm

_CONFIGFS = "/sys/kernel/config/pci_ep"
_FUNCTION = "lab"

# Shell that the scripts below share.  Nothing in a guest tells a shell when a
# file of sysfs appears, so await looks again and again; $1 is a limit in
# seconds.
_PRELUDE = r"""
read -r began _ </proc/uptime; echo "$began" >&2
fail() { echo "$*" >&2; exit 9; }
put() {
	printf '%s\n' "$2" 2>/tmp/lab.err >"$1" && return
	IFS= read -r why </tmp/lab.err
	fail "${1#/sys/kernel/config/pci_ep/} = $2: ${why##*: }"
}
await() {
	read -r now _ </proc/uptime
	end=$((${now%.*} + $1)); shift
	until "$@"; do
		read -r now _ </proc/uptime
		[ ${now%.*} -lt $end ] || return 1
		busybox usleep 10000
	done
}
any() {
	for found in $1; do
		[ -e "$found" ] && return
	done
	false
}
# What is built in need not be loaded and cannot be unloaded.
modprobe() {
	case $1 in
	-r) [ -e /sys/module/$2/initstate ] || return 0 ;;
	*)
		for driver in /sys/module/$1 /sys/bus/*/drivers/$1; do
			[ ! -d "$driver" ] || return 0
		done ;;
	esac
	command modprobe "$@"
}
netdev() {
	for found in /sys/class/net/*; do
		case $(busybox readlink "$found/device") in
		*/ntb_netdev*) found=${found##*/}; return ;;
		esac
	done
	false
}
"""


class ConfigurationError(LabError):
    """A guest's kernel refused something; the text has its own words."""


def _kernel_says(vm: Vm, since: str) -> str:
    """The kernel's last complaint after @since seconds of uptime."""
    log = vm.run("dmesg --level=emerg,alert,crit,err,warn", check=False).stdout
    lines = re.findall(r"^\[ *([\d.]+)\] (.*)$", log, re.M)
    recent = [text for stamp, text in lines if float(stamp) >= float(since)]
    return f"; kernel: {recent[-1]}" if recent else ""


def _script(vm: Vm, body: str, what: str, timeout: float) -> str:
    """Run shell @body in the guest; explain a failure with the kernel's words."""
    try:
        return vm.run(_PRELUDE + body, timeout=timeout).stdout.strip()
    except CommandError as e:
        began, *said = e.result.stderr.strip().splitlines() or ["0"]
        if e.result.status < 0:
            said = [f"no end within {timeout:.0f} s"]
        raise ConfigurationError(
            f"{what} of {vm.role} failed: {said[-1] if said else e}"
            f"{_kernel_says(vm, began)}; console: {vm.console_log}") from e


def controller(ep: Vm, timeout: float = 10) -> str:
    """The name of the endpoint controller, "<address>.pcie-ep"."""
    return _script(ep, f"""
await {timeout:.0f} any "{_CONFIGFS}/controllers/*.pcie-ep" ||
	fail "no endpoint controller in {_CONFIGFS}/controllers"
echo "${{found##*/}}"
""", "the endpoint controller", timeout + 10)


def configure(ep: Vm, topology: Topology, timeout: float = 30) -> None:
    """
    Make the function of @topology on the EP, bind it, start the controller.

    A driver that has attributes besides those of the PCI header adds a group
    of its own below the function, named after the device: they live there.
    """
    function = topology.function
    name = controller(ep, timeout)
    top = f"{_CONFIGFS}/functions/{function.driver}"
    body = [f"modprobe {function.driver} 2>/dev/null || :",
            f"[ -d {top} ] || fail 'this kernel has no endpoint function "
            f"driver {function.driver}'",
            f"mkdir {top}/{_FUNCTION} || fail 'cannot make the function'",
            f"cd {top}/{_FUNCTION}"]
    body += [f"put $PWD/{key} {value:#x}"
             for key, value in function.header.items()]
    if function.attributes:
        body += [f'any "$PWD/{function.driver}.*" || fail "{function.driver} '
                 'has no attributes"', "own=$found"]
    body += [f"put $own/{key} {value:#x}"
             for key, value in function.attributes.items()]
    _script(ep, "\n".join(body), "endpoint configuration", timeout)
    start(ep, name, topology, timeout)


def start(ep: Vm, name: str, topology: Topology, timeout: float = 30) -> None:
    """Bind the function to controller @name, load the EP's drivers, start."""
    function = f"{_CONFIGFS}/functions/{topology.function.driver}/{_FUNCTION}"
    modules = " ".join(topology.ep.modules)
    _script(ep, f"""
ln -s {_CONFIGFS}/controllers/{name} {function}/primary/ 2>/tmp/lab.err || {{
	IFS= read -r why </tmp/lab.err
	fail "binding the function to {name}: ${{why##*: }}"
}}
for module in {modules}; do
	modprobe $module || fail "cannot load $module"
done
put {_CONFIGFS}/controllers/{name}/start 1
""", "endpoint configuration", timeout)


def stop(ep: Vm, topology: Topology, timeout: float = 60) -> None:
    """Undo start(): what a board needs too before its host comes back anew."""
    name = controller(ep)
    function = f"{_CONFIGFS}/functions/{topology.function.driver}/{_FUNCTION}"
    modules = " ".join(reversed(topology.ep.modules))
    _script(ep, f"""
put {_CONFIGFS}/controllers/{name}/start 0
for module in {modules}; do
	modprobe -r $module || fail "cannot unload $module"
done
rm {function}/primary/{name} || fail "cannot unbind the function"
""", "endpoint shutdown", timeout)


def restart(ep: Vm, topology: Topology, timeout: float = 90) -> None:
    """Stop and start the endpoint that is configured already."""
    stop(ep, topology, timeout)
    start(ep, controller(ep), topology, timeout)


def _device_id(topology: Topology) -> str:
    header = topology.function.header
    return f"{header['vendorid']:#06x} {header['deviceid']:#06x}"


def attach(rc: Vm, topology: Topology, timeout: float = 30) -> str:
    """
    Wait until the RC has the function, load the drivers; returns its address.

    ntb_netdev finds its transport when it is loaded and only then: it is
    loaded last, and anew after the function has come back.
    """
    vendor, device = _device_id(topology).split()
    first, *rest = topology.rc.modules
    again = " ".join(reversed(rest))
    return _script(rc, f"""
function_there() {{
	for function in /sys/bus/pci/devices/*; do
		read -r v <$function/vendor && read -r d <$function/device &&
			[ "$v $d" = "{vendor} {device}" ] && return
	done 2>/dev/null
	false
}}
bound() {{ any "/sys/bus/ntb/devices/*"; }}
await {timeout:.0f} function_there ||
	fail "no PCI function {vendor}:{device} within {timeout:.0f} s"
modprobe {first} || fail "cannot load {first}"
await {timeout:.0f} bound || fail "{first} did not bind ${{function##*/}}"
for module in {again}; do modprobe -r $module 2>/dev/null; done
for module in {' '.join(rest)}; do
	modprobe $module || fail "cannot load $module"
done
echo "${{function##*/}}"
""", "attaching the NTB", 2 * timeout + 20)


def detach(rc: Vm, topology: Topology) -> None:
    """Unload the RC's drivers, in good order while the EP is there."""
    modules = " ".join(reversed(topology.rc.modules))
    _script(rc, f"""
for module in {modules}; do
	modprobe -r $module || fail "cannot unload $module"
done
""", "detaching the NTB", 60)


def address(vm: Vm, timeout: float = 30) -> str:
    """Give the netdev its address and bring it up; returns its name."""
    return _script(vm, f"""
await {timeout:.0f} netdev || fail "ntb_netdev made no network device"
ip addr replace {vm.spec.address} dev $found || fail "no address for $found"
ip link set $found up || fail "$found does not come up"
echo $found
""", "the network device", timeout + 10)


def await_carrier(vm: Vm, timeout: float = 30) -> None:
    """Wait until the netdev has a carrier: the transport's link is up."""
    _script(vm, f"""
carrier() {{
	read -r on 2>/dev/null </sys/class/net/$found/carrier && [ "$on" = 1 ]
}}
netdev || fail "there is no ntb_netdev device"
await {timeout:.0f} carrier ||
	fail "$found has no carrier after {timeout:.0f} s"
""", "the link", timeout + 10)


def form(ep: Vm, rc: Vm, topology: Topology, timeout: float = 60) -> None:
    """Configure both ends and wait until the netdevs have their carrier."""
    configure(ep, topology, timeout)
    join(ep, rc, topology, timeout)


def join(ep: Vm, rc: Vm, topology: Topology, timeout: float = 60) -> None:
    """The part of form() after the endpoint has started."""
    deadline = time.monotonic() + timeout
    attach(rc, topology, timeout)
    for vm in (ep, rc):
        address(vm, max(1, deadline - time.monotonic()))
    for vm in (ep, rc):
        await_carrier(vm, max(1, deadline - time.monotonic()))


def set_link(vm: Vm, state: str) -> None:
    """Take the netdev "up" or "down"."""
    _script(vm, f"""
netdev || fail "there is no ntb_netdev device"
ip link set $found {state} || fail "$found does not go {state}"
""", "the network device", 30)
