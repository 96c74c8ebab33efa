/* Executes files whose interpreter is odd: an ELF file with PT_INTERP or a
 * script with #! that name /proc/self/exe, /proc/1/exe, a FIFO, a folder, a
 * device, itself; scripts that name scripts; an interpreter without end. The
 * kernel opens these paths itself, with the loader's rights. What must stop it:
 * they are resolved inside the sandbox, and five levels deep at most. */
#include "attack.h"
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static const char *interpreter;

static void elf(void)
{
	struct { Elf64_Ehdr header; Elf64_Phdr interp, load; char path[256]; } image = {0};
	image.header = (Elf64_Ehdr){.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = 1, .e_entry = 0x10000000, .e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
	memcpy(image.header.e_ident, ELFMAG "\2\1\1", 7);
	image.interp = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = (char *)image.path - (char *)&image, .p_filesz = strlen(interpreter) + 1};
	image.load = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x10000000, .p_filesz = sizeof image, .p_memsz = sizeof image, .p_align = 4096};
	strcpy(image.path, interpreter);
	int fd = open("elf", O_CREAT | O_TRUNC | O_WRONLY, 0755);
	if (write(fd, &image, sizeof image) != sizeof image)
		broke("cannot try: %s", strerror(errno));
	close(fd);
	alarm(1);
	execl("./elf", "elf", "child", NULL);
}

static void script(void)
{
	int fd = open("script", O_CREAT | O_TRUNC | O_WRONLY, 0755);
	if (dprintf(fd, "#!%s child\n", interpreter) < 0)
		broke("cannot try: %s", strerror(errno));
	close(fd);
	alarm(1);
	execl("./script", "script", "child", NULL);
}

int main(int argc, char **argv)
{
	static const char *const odd[] = {"/proc/self/exe", "/proc/1/exe", "/proc/self/fd/0", "/box/work/script", "/box/work/elf", "/box/work",
		"/dev/zero", "/dev/null", "/proc/self/mem", "/proc/self/maps", "/box/work/link", "../../../../../bin/sh", ""};
	if (argc > 1 && strstr(argv[1], "child")) { /* this very program, once more: then it has the same bounds */
		if (getuid() != geteuid() || getuid() == 0)
			broke("the interpreter is user %u", geteuid());
		_exit(0);
	}
	(void)argv;
	if (symlink("/proc/1/exe", "link") < 0)
		return 1;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		interpreter = odd[i];
		apart(elf, odd[i]);
		apart(script, odd[i]);
	}
	/* Scripts that name each other, further than the kernel follows. */
	for (int i = 0; i < 10; i++) {
		char name[16];
		snprintf(name, sizeof name, "chain%d", i);
		int fd = open(name, O_CREAT | O_WRONLY, 0755);
		dprintf(fd, "#!/box/work/chain%d\n", i + 1);
		close(fd);
	}
	execl("./chain0", "chain0", NULL);
	held("chain: %s", strerror(errno));
}
