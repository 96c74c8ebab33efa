/* Writes the input of the next pass itself, where a checker would leave it, to
 * be judged on what it likes. What must stop it: the feedback folder is in the
 * sandbox of the checker, and judged takes that file from there alone. */
#include "attack.h"
#include <sys/stat.h>

int main(void)
{
	static const char *const folders[] = {"", "feedback/", "/box/feedback/", "/box/", "/tmp/feedback/", "/box/work/feedback/",
		"/proc/self/cwd/../feedback/"};
	char line[64] = "", path[4096];
	if (fgets(line, sizeof line, stdin) && !strcmp(line, "mine\n"))
		broke("its file is the input of a pass");
	mkdir("feedback", 0777);
	mkdir("/tmp/feedback", 0777);
	if (mkdir("/box/feedback", 0777) == 0)
		broke("the feedback folder can be made");
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%snextpass.in", folders[i]);
		int f = open(path, O_CREAT | O_WRONLY, 0666);
		if (f < 0 || write(f, "mine\n", 5) != 5)
			printf("%s: %s\n", path, strerror(errno));
	}
	held("there is no other pass");
}
