/* Writes a program to stdout and executes it through the descriptor and its names:
 * code in a file of judged's, with the owner root. What must stop it: no bit of that
 * file allows it, and a descriptor for writing cannot be mapped. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/syscall.h>

int main(void)
{
	char *const argv[] = {"x", NULL}, *const env[] = {NULL};
	static const char text[] = "#!/proc/self/exe\n";
	if (write(1, text, sizeof text - 1) < 0)
		return 1;
	for (int fd = 0; fd <= 2; fd++) {
		char path[32];
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		refused(syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH), "execveat");
		refused(execve(path, argv, env), path);
		refused(access(path, X_OK), "access");
	}
	refused(execve("/dev/stdout", argv, env), "/dev/stdout");
	int again = open("/dev/stdout", O_WRONLY);
	refused(syscall(SYS_execveat, again, "", argv, env, AT_EMPTY_PATH), "execveat of what was opened again");
	if (mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, again, 0) != MAP_FAILED)
		broke("mapped");
	held("not executable");
}
