/* Calls each number beyond the newest that the filter names, and the newest ones by
 * name, with arguments that would change nothing. What must stop it: the filter lists
 * what is allowed. */
#include "attack.h"
#include <sys/syscall.h>

static long number;

static void attempt(void)
{
	static char zeros[4096];
	errno = 0;
	long r = syscall(number, zeros, zeros, 0, 0, 0, 0);
	if (r >= 0)
		broke("call %ld returned %ld", number, r);
}

int main(void)
{
	char name[32];
	/* memfd_secret, process_mrelease, cachestat, fchmodat2 and statmount are tried elsewhere or harmless. */
	static const int calls[] = {440, 442, 443, 444, 445, 446, 447, 448, 449, 450, 453, 455, 456, 457, 458, 459, 460, 461,
		463, 464, 465, 466, 467, 468, 469, 470, 471, 472, 480, 511};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		number = calls[i];
		snprintf(name, sizeof name, "call %ld", number);
		apart(attempt, name);
	}
	held("none of them");
}
