/* Types into the terminal of the user who started judged (TIOCSTI, as with su and
 * many sandboxes: CVE-2017-5226 of bubblewrap), pastes by TIOCLINUX, and opens
 * terminals, which are in no namespace but that of their mount. What must stop
 * it: no terminal is there, and ioctl knows five commands. */
#include "attack.h"
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

int main(void)
{
	static const char *const devices[] = {"/dev/tty", "/dev/console", "/dev/ptmx", "/dev/pts/ptmx", "/dev/pts/0", "/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/vcs"};
	char paste = 3;
	struct winsize size = {25, 80, 0, 0};
	int line_discipline = 21, zero = 0, primary, secondary;
	for (int fd = 0; fd < 3; fd++) {
		if (isatty(fd))
			broke("stream %d is a terminal", fd);
		refused(ioctl(fd, TIOCSTI, ""), "TIOCSTI");
		refused(ioctl(fd, TIOCLINUX, &paste), "TIOCLINUX");
		refused(ioctl(fd, TIOCSCTTY, 0), "TIOCSCTTY");
		refused(ioctl(fd, TIOCCONS, 0), "TIOCCONS");
		refused(ioctl(fd, TIOCSWINSZ, &size), "TIOCSWINSZ");
		/* n_gsm and others: line disciplines are modules, loaded by whoever asks. */
		refused(ioctl(fd, TIOCSETD, &line_discipline), "TIOCSETD");
		refused(ioctl(fd, (1UL << 32) | TIOCSTI, &zero), "TIOCSTI with the upper half set");
	}
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (open(devices[i], O_RDWR | O_NOCTTY) >= 0 || open(devices[i], O_RDONLY | O_NOCTTY) >= 0)
			broke("%s is there", devices[i]);
	refused(openpty(&primary, &secondary, NULL, NULL, NULL), "openpty");
	setsid();
	if (open("/dev/tty", O_RDWR) >= 0)
		broke("there is a controlling terminal");
	held("no terminal");
}
