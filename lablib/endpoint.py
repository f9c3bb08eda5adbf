# SPDX-License-Identifier: GPL-2.0-or-later
"""The endpoint function: configured on the EP, found on the RC."""

from lablib import guest_script
from lablib.topology import Topology
from lablib.vm import Vm

_CONFIGFS = "/sys/kernel/config/pci_ep"
_FUNCTION = "lab"

# start_controller NAME 1, or 0 to stop it.
_START = r"""
start_controller() {
	put /sys/kernel/config/pci_ep/controllers/$1/start $2
	# The generic DesignWare driver leaves the LTSSM to somebody else.
	for app in /proc/device-tree/pcie-ep-app@*; do
		[ ! -e "$app" ] || busybox devmem 0x${app##*@} 32 $2 ||
			fail "cannot write the LTSSM register"
	done
}
"""


def controller(ep: Vm, timeout: float = 10) -> str:
    """The name of the endpoint controller, "<address>.pcie-ep"."""
    return guest_script.run(ep, f"""
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
    guest_script.run(ep, "\n".join(body), "endpoint configuration", timeout)
    start(ep, name, topology, timeout)


def start(ep: Vm, name: str, topology: Topology, timeout: float = 30) -> None:
    """Bind the function to controller @name, load the EP's drivers, start."""
    function = f"{_CONFIGFS}/functions/{topology.function.driver}/{_FUNCTION}"
    modules = " ".join(topology.ep.modules)
    guest_script.run(ep, _START + f"""
ln -s {_CONFIGFS}/controllers/{name} {function}/primary/ 2>/tmp/lab.err || {{
	IFS= read -r why </tmp/lab.err
	fail "binding the function to {name}: ${{why##*: }}"
}}
for module in {modules}; do
	modprobe $module || fail "cannot load $module"
done
start_controller {name} 1
""", "endpoint configuration", timeout)


def stop(ep: Vm, topology: Topology, timeout: float = 60) -> None:
    """Undo start(): what a board needs too before its host comes back anew."""
    name = controller(ep)
    function = f"{_CONFIGFS}/functions/{topology.function.driver}/{_FUNCTION}"
    modules = " ".join(reversed(topology.ep.modules))
    guest_script.run(ep, _START + f"""
start_controller {name} 0
for module in {modules}; do
	modprobe -r $module || fail "cannot unload $module"
done
rm {function}/primary/{name} || fail "cannot unbind the function"
""", "endpoint shutdown", timeout)


def remove(ep: Vm, topology: Topology, timeout: float = 60) -> None:
    """Undo configure(): stop(), and the function is gone."""
    stop(ep, topology, timeout)
    function = f"{_CONFIGFS}/functions/{topology.function.driver}/{_FUNCTION}"
    guest_script.run(ep, f"""
rmdir {function} || fail "cannot remove the function"
""", "endpoint shutdown", timeout)


def restart(ep: Vm, topology: Topology, timeout: float = 90) -> None:
    """Stop and start the endpoint that is configured already."""
    stop(ep, topology, timeout)
    start(ep, controller(ep), topology, timeout)


def find(rc: Vm, topology: Topology, timeout: float = 30) -> str:
    """Wait until the RC has the function; returns its PCI address."""
    header = topology.function.header
    vendor, device = header["vendorid"], header["deviceid"]
    return guest_script.run(rc, f"""
there() {{
	for function in /sys/bus/pci/devices/*; do
		read -r v <$function/vendor && read -r d <$function/device &&
			[ "$v $d" = "{vendor:#06x} {device:#06x}" ] && return
	done 2>/dev/null
	false
}}
await {timeout:.0f} there ||
	fail "no PCI function {vendor:#06x}:{device:#06x} within {timeout:.0f} s"
echo "${{function##*/}}"
""", "the endpoint function", timeout + 10)
