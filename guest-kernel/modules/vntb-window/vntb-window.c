// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/vntb-window maps a physical range write-combining, as ntb_transport maps
 * a memory window; /dev/mem and resourceN of sysfs give device memory instead.
 *
 * The file offset is the physical address. Only ranges outside RAM are mapped.
 */

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>

static int vntb_window_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned long size = vma->vm_end - vma->vm_start;
	unsigned long pfn;

	for (pfn = vma->vm_pgoff; pfn < vma->vm_pgoff + (size >> PAGE_SHIFT); pfn++)
		if (pfn_valid(pfn))
			return -EINVAL;

	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return io_remap_pfn_range(vma, vma->vm_start, vma->vm_pgoff, size,
				  vma->vm_page_prot);
}

static const struct file_operations vntb_window_fops = {
	.owner = THIS_MODULE,
	.mmap = vntb_window_mmap,
};

static struct miscdevice vntb_window_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vntb-window",
	.fops = &vntb_window_fops,
	.mode = 0600,
};
module_misc_device(vntb_window_device);

MODULE_DESCRIPTION("Maps memory windows write-combining, for benchmarks");
MODULE_LICENSE("GPL");
