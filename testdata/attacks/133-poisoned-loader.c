/* Gets its code into programs that others start, by what the dynamic loader
 * reads: /etc/ld.so.preload and ld.so.cache, folders of libraries, of locales
 * and of gconv modules, interpreters' start files; and into a set-user-ID
 * program by LD_PRELOAD, LD_AUDIT and GLIBC_TUNABLES (CVE-2023-4911, Looney
 * Tunables). What must stop it: all of these are read-only, no program gains
 * rights, judged passes an environment of its own. */
#include "attack.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/stat.h>

static void preloaded(void)
{
	static const char *const env[] = {"LD_PRELOAD=/box/work/evil.so", "LD_AUDIT=/box/work/evil.so", "LD_LIBRARY_PATH=/box/work", "GCONV_PATH=/box/work",
		"GLIBC_TUNABLES=glibc.malloc.mxfast=glibc.malloc.mxfast=A", "LD_SHOW_AUXV=1", NULL};
	int null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 2);
	int out = open("auxv", O_CREAT | O_WRONLY, 0600);
	dup2(out, 1);
	execle("/usr/bin/su", "su", "--version", NULL, env);
	_exit(0);
}

int main(void)
{
	static const char *const places[] = {"/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/nsswitch.conf", "/etc/passwd", "/etc/profile",
		"/etc/python3/sitecustomize.py", "/etc/alternatives/java", "/usr/lib/x86_64-linux-gnu/evil.so", "/usr/local/lib/evil.so", "/lib/evil.so",
		"/lib64/ld-linux-x86-64.so.2", "/usr/lib/locale/evil", "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules", "/usr/local/bin/python3", "/usr/local/bin/cc",
		"/usr/lib/python3/dist-packages/evil.pth", "/usr/local/lib/python3.11/dist-packages/evil.pth", "/root/.bashrc", "/proc/self/environ"};
	struct stat info;
	char line[256];
	int secure = 0;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int existed = lstat(places[i], &info) == 0, fd = open(places[i], O_CREAT | O_WRONLY | O_APPEND, 0644);
		if (fd >= 0 && !existed)
			unlink(places[i]);
		if (fd >= 0)
			broke("%s can be written", places[i]);
	}
	if (getauxval(AT_SECURE) != 0)
		broke("a set-user-ID program of its own");
	if (getenv("LD_PRELOAD") || getenv("LD_LIBRARY_PATH") || getenv("GLIBC_TUNABLES") || getenv("PYTHONPATH"))
		broke("an environment that is not judged's");
	apart(preloaded, "su");
	FILE *f = fopen("auxv", "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "AT_SECURE: %d", &secure);
	if (secure != 0)
		broke("su gains rights: AT_SECURE is %d", secure);
	held("nothing that a loader of others reads can be written");
}
