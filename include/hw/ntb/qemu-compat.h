/*
 * Differences between the QEMU versions these models build with
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NTB_QEMU_COMPAT_H
#define HW_NTB_QEMU_COMPAT_H

/* 10.2 moved the memory API and the RAM blocks from exec/ to system/. */
#if __has_include("system/memory.h")
#include "system/memory.h"
#else
#include "exec/memory.h"
#endif
#if __has_include("system/address-spaces.h")
#include "system/address-spaces.h"
#else
#include "exec/address-spaces.h"
#endif
#if __has_include("system/ramblock.h")
#include "system/ramblock.h"
#else
#include "exec/ramblock.h"
#endif

/* 10.1 made class data and interface lists const. */
#if __has_include("system/memory.h")
#define CABLE_CONST const
#define CABLE_CLASS_DATA const void *
#else
#define CABLE_CONST
#define CABLE_CLASS_DATA void *
#endif

#endif /* HW_NTB_QEMU_COMPAT_H */
