/* Looks into what judged has given to the compiler: a token in its environment, a
 * path in its arguments, files that it has open. What must stop it: there is nothing
 * of judged's in them. */
#include "attack.h"

__asm__(".data\n.global stolen\nstolen:\n"
	".incbin \"/proc/self/environ\"\n.byte 10\n.incbin \"/proc/self/cmdline\"\n.byte 10\n"
	".incbin \"/proc/self/mountinfo\"\n"
	".global stolen_end\nstolen_end:\n.byte 0\n");
extern const char stolen[], stolen_end[];

int main(void)
{
	static const char *const secrets[] = {"JUDGED", "TOKEN", "token", "/var/lib", "/root", "INVOCATION_ID", "CREDENTIALS"};
	for (const char *at = stolen; at < stolen_end; at++)
		for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
			if (strncmp(at, secrets[i], strlen(secrets[i])) == 0)
				broke("the compiler has %.80s", at);
	held("%ld bytes of nothing", (long)(stolen_end - stolen));
}
