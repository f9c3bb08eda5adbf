# SPDX-License-Identifier: GPL-2.0-or-later
"""How the guest kernel is configured, with a tree that only looks like one."""

import pytest

from lablib import kernel_build
from lablib.kernel_build import Wishes
from lablib.ui import LabError

# Takes over those options of the fragments whose symbols the tree has.
MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 3
allnoconfig:
\tgrep -wf symbols $(KCONFIG_ALLCONFIG) >$(O)/.config
"""


@pytest.fixture
def tree(tmp_path):
    """A tree with two symbols."""
    source = tmp_path / "linux"
    (source / "arch/arm64").mkdir(parents=True)
    (source / "arch/arm64/Kconfig").touch()
    (source / "Makefile").write_text(MAKEFILE)
    (source / "symbols").write_text("CONFIG_NET\nCONFIG_NTB\n")
    return source


def configure(tree, fragments):
    build = tree.parent / "build"
    build.mkdir(exist_ok=True)
    missing = kernel_build._configure(["make"], tree, build, {}, fragments)
    return missing, (build / ".config").read_text()


def test_a_symbol_that_the_tree_got_meanwhile_is_set(tree):
    fragments = {"base": "CONFIG_NET=y\nCONFIG_LATER=y\n"}
    missing, config = configure(tree, fragments)
    assert missing == ("CONFIG_LATER",) and "LATER" not in config
    with open(tree / "symbols", "a") as symbols:
        symbols.write("CONFIG_LATER\n")
    missing, config = configure(tree, fragments)
    assert missing == () and "CONFIG_LATER=y" in config


def test_options_of_the_user_come_last(tree, tmp_path):
    mine = tmp_path / "mine.config"
    mine.write_text("# of mine\nCONFIG_NTB=m\nCONFIG_NONE=n\nCONFIG_TYPO=y")
    wishes = Wishes(files=(mine,))
    fragments = kernel_build._fragments(wishes)
    assert list(fragments) == ["base", "compat", "ntb", str(mine)]
    fragments = {"ntb": "CONFIG_NTB=y\n", str(mine): fragments[str(mine)]}
    # Off as wished is not missing, neither is what the user has as a module.
    config = tmp_path / "config"
    config.write_text("CONFIG_NTB=m\n# CONFIG_NONE is not set\n")
    assert kernel_build._missing(config, fragments) == ("CONFIG_TYPO",)
    config.write_text("CONFIG_NTB=y\nCONFIG_TYPO=y\n")
    assert kernel_build._missing(config, fragments) == ("CONFIG_NTB",)


@pytest.mark.parametrize("text, word", [
    (None, "no text file"), ("CONFIG_A=y\nNET: yes\n", r"config:2: 'NET: yes'")])
def test_a_fragment_with_a_mistake(tmp_path, text, word):
    file = tmp_path / "my.config"
    if text:
        file.write_text(text)
    with pytest.raises(LabError, match=word):
        kernel_build.check(None, Wishes(files=(file,)))


def test_gdb_gets_debug_information():
    without = "".join(kernel_build._fragments(Wishes()).values())
    wanted = "".join(kernel_build._fragments(Wishes(gdb=True)).values())
    assert "CONFIG_DEBUG_INFO" not in without
    assert "CONFIG_DEBUG_INFO" in wanted


def test_a_tree_with_a_build_of_its_own_may_keep_it(tree):
    assert kernel_build.check_tree(tree) == "6.12.3"
    (tree / ".config").touch()
    with pytest.raises(LabError) as e:
        kernel_build.check_tree(tree)
    text = str(e.value)
    assert f"git -C {tree} worktree add" in text
    assert text.index("worktree") < text.index("mrproper")


def test_a_tree_that_is_too_old(tree):
    (tree / "Makefile").write_text(MAKEFILE.replace("= 12", "= 11"))
    with pytest.raises(LabError, match="6.11 is too old"):
        kernel_build.check(tree, Wishes())
