/* Uses what x86 kept for emulators and X servers: 16-bit segments (modify_ldt:
 * CVE-2015-5157, CVE-2017-17053), segment bases in the kernel's half, virtual
 * 8086 mode, I/O ports. What must stop it: seccomp; it kills for ports. */
#include "attack.h"
#include <asm/ldt.h>
#include <asm/prctl.h>
#include <sys/io.h>
#include <sys/syscall.h>

static void ports(void)
{
	if (ioperm(0x80, 1, 1) == 0)
		broke("I/O port 0x80");
}

static void direct(void)
{
	unsigned char value;
	__asm__ volatile("inb $0x80, %0" : "=a"(value));
	broke("read I/O port 0x80: %d", value);
}

int main(void)
{
	struct user_desc segment = {.entry_number = 0, .limit = 0xfffff, .limit_in_pages = 1};
	unsigned long base = 0;
	char table[64];
	refused(syscall(SYS_modify_ldt, 1, &segment, sizeof segment), "modify_ldt");
	refused(syscall(SYS_modify_ldt, 0x11, &segment, sizeof segment), "modify_ldt, new mode");
	refused(syscall(SYS_modify_ldt, 0, table, sizeof table), "modify_ldt, reading");
	refused(syscall(SYS_set_thread_area, &segment), "set_thread_area");
	refused(syscall(SYS_arch_prctl, ARCH_SET_GS, 0xffffffff81000000UL), "GS in the kernel");
	refused(syscall(SYS_arch_prctl, ARCH_SET_FS, 0x800000000000UL), "FS above user space");
	refused(syscall(SYS_arch_prctl, 0x2001 /* ARCH_MAP_VDSO_X32 */, 0), "a second vdso");
	refused(syscall(SYS_arch_prctl, 0x5001 /* ARCH_SHSTK_ENABLE */, ~0UL), "shadow stacks of all kinds");
	if (syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base >= 1UL << 47)
		broke("GS is %#lx", base);
	apart(ports, "ioperm");
	apart(direct, "inb");
	if (iopl(3) == 0)
		broke("iopl");
	held("iopl: %s", strerror(errno));
}
