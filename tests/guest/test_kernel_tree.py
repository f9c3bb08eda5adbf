# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches and new files of guest-kernel, put into a copy of a small tree."""

import dataclasses
import os

import pytest

from lablib import kernel_tree
from lablib.ui import LabError

PATCH = """\
From 0 Mon Sep 17 00:00:00 2001
From: vntb-lab <lab@localhost>
Subject: [PATCH] {what}

---
 {name} | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/{name} b/{name}
--- a/{name}
+++ b/{name}
@@ -1,3 +1,3 @@
 one
-{old}
+{new}
 three
--\x20
2.39
"""


@pytest.fixture
def base(tmp_path):
    """A tree of three files."""
    tree = tmp_path / "linux"
    (tree / "drivers/ntb").mkdir(parents=True)
    (tree / ".git").mkdir()
    (tree / ".git/config").touch()
    (tree / "drivers/ntb/core.c").write_text("one\ntwo\nthree\n")
    (tree / "drivers/ntb/Makefile").write_text("one\ntwo\nthree\n")
    (tree / "run.sh").write_text("one\ntwo\nthree\n")
    (tree / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("run.sh")
    return tree


@pytest.fixture
def own(tmp_path):
    """guest-kernel with two patches that build on each other, and a file."""
    top = tmp_path / "guest-kernel"
    (top / "patches").mkdir(parents=True)
    name = "drivers/ntb/core.c"
    for number, old, new in ((1, "two", "2"), (2, "2", "II")):
        (top / f"patches/000{number}-x.patch").write_text(PATCH.format(
            what=f"ntb: say {new}", name=name, old=old, new=new))
    (top / "drivers/ntb").mkdir(parents=True)
    (top / "drivers/ntb/new.c").write_text("new\n")
    (top / "modules/m").mkdir(parents=True)
    (top / "modules/m/m.c").touch()
    return top


def text(tree, name="drivers/ntb/core.c"):
    return (tree / name).read_text()


def snapshot(tree):
    return {str(path): (path.lstat().st_mtime_ns, path.is_file()
                        and path.read_bytes()) for path in tree.rglob("*")}


@pytest.mark.parametrize("make", [kernel_tree.fixed, kernel_tree.follow])
def test_patches_and_files_go_into_a_copy(base, own, tmp_path, make):
    before = snapshot(base)
    tree = make(base, tmp_path / "k", kernel_tree.series(own), "7.3")
    assert text(tree) == "one\nII\nthree\n"
    assert text(tree, "drivers/ntb/new.c") == "new\n"
    assert os.readlink(tree / "link") == "run.sh"
    assert os.access(tree / "run.sh", os.X_OK)
    assert not (tree / ".git").exists() and not (tree / "modules").exists()
    assert snapshot(base) == before


def test_a_kernel_that_checks_itself_has_patches_besides(base, own, tmp_path):
    (own / "patches/debug").mkdir()
    (own / "patches/debug/0001-y.patch").write_text(PATCH.format(
        what="ntb: say 3", name="drivers/ntb/core.c", old="II", new="3"))
    plain, debug = (kernel_tree.series(own, debug) for debug in (False, True))
    assert plain.content() != debug.content()
    tree = kernel_tree.fixed(base, tmp_path / "plain", plain, "7.3")
    assert text(tree) == "one\nII\nthree\n"
    tree = kernel_tree.fixed(base, tmp_path / "debug", debug, "7.3")
    assert text(tree) == "one\n3\nthree\n"
    with pytest.raises(LabError, match="guest-kernel/patches/debug/0001-y"):
        kernel_tree.fixed(base, tmp_path / "other", dataclasses.replace(
            debug, patches=debug.patches[2:]), "7.3")


def test_what_the_tree_has_is_skipped_by_name(base, own, tmp_path, capsys):
    (base / "drivers/ntb/core.c").write_text("one\nII\nthree\n")
    (base / "drivers/ntb/new.c").write_text("newer\n")
    series = kernel_tree.series(own)
    tree = kernel_tree.follow(base, tmp_path / "k", series, "7.3")
    assert text(tree) == "one\nII\nthree\n"
    assert text(tree, "drivers/ntb/new.c") == "newer\n"
    said = capsys.readouterr().err
    assert "0001-x.patch, 0002-x.patch, drivers/ntb/new.c" in said


def test_a_tree_with_a_part_of_the_series(base, own, tmp_path, capsys):
    (base / "drivers/ntb/core.c").write_text("one\n2\nthree\n")
    tree = kernel_tree.fixed(base, tmp_path / "k", kernel_tree.series(own),
                             "7.3")
    assert text(tree) == "one\nII\nthree\n"
    for _ in range(2):      # told again when the copy is only found again
        said = capsys.readouterr().err
        assert "0001-x.patch" in said and "0002" not in said
        kernel_tree.fixed(base, tmp_path / "k", kernel_tree.series(own), "7.3")


@pytest.mark.parametrize("make", [kernel_tree.fixed, kernel_tree.follow])
def test_a_patch_that_does_not_apply(base, own, tmp_path, make):
    (base / "drivers/ntb/core.c").write_text("1\nzwei\n3\n")
    with pytest.raises(LabError) as e:
        make(base, tmp_path / "k", kernel_tree.series(own), "7.4")
    line = str(e.value)
    assert "patches/0001-x.patch does not apply to Linux 7.4" in line
    assert "\n" not in line


def test_a_second_use_touches_what_changed_and_no_more(base, own, tmp_path):
    series, target = kernel_tree.series(own), tmp_path / "k"
    tree = kernel_tree.follow(base, target, series, "7.3")
    (tree / "build").mkdir()
    (tree / "build/core.o").touch()
    before = snapshot(tree)
    kernel_tree.follow(base, target, series, "7.3")
    assert snapshot(tree) == before
    # An older date is a change too; its copy gets a newer one.
    os.utime(base / "drivers/ntb/Makefile", (1, 1))
    (base / "drivers/ntb/core.c").write_text("one\ntwo\nthree\nfour\n")
    (base / "run.sh").unlink()
    (base / "more.c").touch()
    kernel_tree.follow(base, target, series, "7.3")
    after = snapshot(tree)
    assert {os.path.relpath(name, tree) for name in before.keys() | after
            if before.get(name) != after.get(name)
            and os.path.isfile(name) or name not in after} == {
        "drivers/ntb/Makefile", "drivers/ntb/core.c", "run.sh", "more.c"}
    assert after[str(tree / "drivers/ntb/Makefile")][0] > \
        before[str(tree / "drivers/ntb/Makefile")][0]
    assert text(tree) == "one\nII\nthree\nfour\n"


def test_a_patch_taken_away_is_gone(base, own, tmp_path):
    target = tmp_path / "k"
    kernel_tree.follow(base, target, kernel_tree.series(own), "7.3")
    for patch in (own / "patches").iterdir():
        patch.unlink()
    (own / "drivers/ntb/new.c").unlink()
    tree = kernel_tree.follow(base, target, kernel_tree.series(own), "7.3")
    assert text(tree) == "one\ntwo\nthree\n"
    assert not (tree / "drivers/ntb/new.c").exists()


def test_equal_content_is_an_equal_key(own):
    first = kernel_tree.series(own).content()
    assert first == kernel_tree.series(own).content()
    (own / "drivers/ntb/new.c").write_text("newer\n")
    assert first != kernel_tree.series(own).content()
