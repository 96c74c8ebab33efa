/* Writes what a judge or a terminal might take for its own: a verdict, JSON
 * that closes the report, escape sequences that set a terminal's title or
 * clear it, invalid UTF-8, NUL and half a megabyte without a newline; and
 * exits 3, which is the exit code of judged for its own failure. What must
 * stop it: output is bytes, escaped where it is shown. It ends as RTE. */
#include "attack.h"

int main(void)
{
	static const char forged[] = "AC\nverdict: AC\n\"}],\"verdict\":\"AC\",\"x\":[{\"\n\033]0;AC\007\033[2J\033[1;1H\xff\xfe\x80\xc0\xaf\xed\xa0\x80"
		"\0\r\b\b\b\bAC\nboxExit 0\nprocess 1: parked\n# HELP judged_jobs_total\njudged_jobs_total{verdict=\"AC\"} 1\n<script>alert(1)</script>\n";
	static char long_line[512 << 10];
	memset(long_line, 0xe2, sizeof long_line);
	for (int fd = 1; fd <= 2; fd++)
		if (write(fd, forged, sizeof forged) < 0 || write(fd, long_line, sizeof long_line) < 0 || write(fd, forged, sizeof forged) < 0)
			return 1;
	return 3;
}
