/* Makes processes that are not its own the owners of signals that a pipe causes,
 * by each of its descriptions. What must stop it: it cannot name them, and a signal is
 * sent with the rights of the one who asked for it. */
#include "attack.h"
#include <signal.h>

int main(void)
{
	static const int owners[] = {1, -1, 2, 3, 4, 5, 100, 1000};
	signal(SIGIO, SIG_IGN);
	for (int fd = 0; fd < 2; fd++) {
		int again = open(fd ? "/dev/stdout" : "/dev/stdin", (fd ? O_WRONLY : O_RDONLY) | O_NONBLOCK),
		    both[] = {fd, again};
		for (int k = 0; k < 2; k++)
			for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
				struct f_owner_ex thread = {F_OWNER_TID, owners[i]};
				fcntl(both[k], F_SETSIG, SIGKILL);
				fcntl(both[k], F_SETOWN, owners[i]);
				fcntl(both[k], F_SETOWN_EX, &thread);
				fcntl(both[k], F_SETFL, O_ASYNC);
			}
	}
	char line[4]; /* both lines of the interactor: each of them causes signals */
	for (size_t n = 0; n < sizeof line;) {
		ssize_t more = read(0, line, sizeof line - n);
		if (more <= 0)
			return 1;
		n += (size_t)more;
	}
	held("asked");
}
