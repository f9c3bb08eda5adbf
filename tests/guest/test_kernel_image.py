# SPDX-License-Identifier: GPL-2.0-or-later
"""--kernel-image: a kernel of the user's, and where its modules are."""

import dataclasses
import shutil

import pytest

from lablib import kernel_image, kernel_needs, paths
from lablib.ui import LabError


needs_ntb = pytest.mark.usefixtures("ntb_kernel")


@pytest.fixture
def image(built, tmp_path, monkeypatch):
    """A copy of the kernel where nothing is beside it, and an own cache."""
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    place = tmp_path / "a" / "b" / "c"
    place.mkdir(parents=True)
    return shutil.copy(built.kernel, place / "Image")


@pytest.fixture
def installed(built):
    """What modules_install made of the kernel in use."""
    return built.modules / "lib" / "modules" / built.kernel_release


def modules_of(kernel):
    return {path.name for path in
            (kernel.modules / "lib" / "modules").rglob("*.ko")}


@pytest.mark.parametrize("levels", [3, 1, 0])
def test_modules_are_given(image, built, installed, levels):
    directory = (installed, *installed.parents)[levels]
    kernel = kernel_image.load(image, directory)
    assert kernel.release == built.kernel_release
    assert {"ntb_netdev.ko", "pci-epf-vntb.ko"} <= modules_of(kernel)
    # The user's directory is not written to, but copied once.
    assert paths.CACHE in kernel.modules.parents
    assert kernel_image.load(image, directory).modules == kernel.modules
    assert not list((kernel.modules / "lib/modules").glob("*/build"))


@pytest.mark.parametrize("where", ["lib/modules", "modules/lib/modules",
                                   "../lib/modules"])
def test_modules_are_beside_the_image(image, installed, where):
    shutil.copytree(installed, image.parent / where / installed.name)
    kernel = kernel_image.load(image, None)
    assert "ntb_netdev.ko" in modules_of(kernel)


@pytest.mark.parametrize("suffix, prefix", [(".o", ""), (".ko", "kernel/")])
def test_modules_of_the_tree_that_the_image_is_in(image, built, installed,
                                                  tmp_path, suffix, prefix):
    tree = tmp_path / "tree"
    where = tree / "arch/arm64/boot"
    where.mkdir(parents=True)
    inside = shutil.copy(image, where / "Image")
    shutil.copytree(installed / "kernel", tree, dirs_exist_ok=True)
    names = [p.relative_to(tree) for p in sorted(tree.rglob("*.ko"))]
    (tree / "modules.order").write_text("".join(
        f"{prefix}{name.with_suffix(suffix)}\n" for name in names))
    shutil.copy(installed / "modules.builtin", tree)
    (tree / "vmlinux").touch()
    kernel = kernel_image.load(inside, None)
    assert modules_of(kernel) == {name.name for name in names}
    assert (kernel.modules / "lib/modules" / built.kernel_release
            / "modules.dep").is_file()
    assert kernel.vmlinux == tree / "vmlinux"
    # Half a build is told.
    (tree / names[0]).unlink()
    with pytest.raises(LabError, match=rf"{names[0]} is missing.*make"):
        kernel_image.load(inside, None)


def test_the_lab_s_own_image_brings_its_modules(built):
    if paths.CACHE.resolve() not in built.kernel.resolve().parents:
        pytest.skip("these tests run with an Image of the user's")
    kernel = kernel_image.load(built.kernel, None)
    assert kernel.modules.resolve() == built.modules.resolve()


def test_modules_of_another_kernel_are_refused(image, installed, tmp_path):
    shutil.copytree(installed, tmp_path / "lib/modules/1.2.3")
    with pytest.raises(LabError, match=r"has modules of Linux 1\.2\.3, the "):
        kernel_image.check(image, tmp_path)
    with pytest.raises(LabError, match="INSTALL_MOD_PATH"):
        kernel_image.check(image, tmp_path / "a")
    with pytest.raises(LabError, match="--kernel-image"):
        kernel_image.check(None, tmp_path)


def changed(built, kernel):
    return dataclasses.replace(built, kernel=kernel.image,
                               modules=kernel.modules)


def test_an_image_without_modules_is_refused(image, built, two_vm):
    kernel = kernel_image.load(image, None)
    assert modules_of(kernel) == set()
    with pytest.raises(kernel_needs.Lacking) as e:
        kernel_needs.check(changed(built, kernel), two_vm)
    assert "--kernel-modules DIR" in str(e.value)
    assert "\n" not in str(e.value)


@needs_ntb
def test_drivers_that_are_not_there_are_named(image, built, installed, two_vm,
                                              tmp_path):
    mine = tmp_path / "lib/modules" / built.kernel_release
    shutil.copytree(installed, mine)
    kernel_needs.check(changed(built, kernel_image.load(image, tmp_path)),
                       two_vm)
    for path in mine.rglob("ntb_netdev.ko"):
        path.unlink()
    lacking = dataclasses.replace(
        changed(built, kernel_image.load(image, tmp_path)),
        kernel_missing=("CONFIG_NTB_NETDEV",))
    with pytest.raises(kernel_needs.Lacking,
                       match="lacks ntb_netdev: .* not take CONFIG_NTB_NET"):
        kernel_needs.check(lacking, two_vm)
    with open(mine / "modules.builtin", "a") as listed:
        listed.write("kernel/drivers/net/ntb_netdev.ko\n")
    with pytest.raises(kernel_needs.Lacking, match="module only"):
        kernel_needs.check(changed(built, kernel_image.load(image, tmp_path)),
                           two_vm)


@needs_ntb
def test_parts_of_drivers_that_are_not_there_are_named(built, two_vm):
    header = two_vm.function.header | {"deviceid": 0x1234}
    later = dataclasses.replace(
        two_vm.function, header=header,
        attributes=two_vm.function.attributes | {"mw1_colour": 1})
    with pytest.raises(kernel_needs.Lacking) as e:
        kernel_needs.check(built, dataclasses.replace(two_vm, function=later))
    assert "pci_epf_vntb has no mw1_colour;" in str(e.value)
    assert "ntb_hw_epf does not know 1912:1234" in str(e.value)


@needs_ntb
def test_the_ntb_forms_with_an_image(launcher, built, tmp_path):
    image = shutil.copy(built.kernel, tmp_path)
    refused = launcher.run("up", "--kernel-image", str(image))
    assert refused.returncode == 1
    assert "--kernel-modules" in refused.stderr.splitlines()[-1]
    up = launcher.run("up", "--kernel-image", str(image),
                      "--kernel-modules", str(built.modules))
    assert up.returncode == 0, up.stderr
