/* Stores a key in the keyrings of the user and of the user's session, which no
 * namespace separates, and asks for the key of the last run. What must stop it
 * is seccomp, and behind it a separate user for every run. Docker had this
 * channel between all containers of one user (moby 10939), isolate until 2.4. */
#include "attack.h"
#include <linux/keyctl.h>
#include <sys/syscall.h>

static const int rings[] = {KEY_SPEC_USER_KEYRING, KEY_SPEC_USER_SESSION_KEYRING, KEY_SPEC_SESSION_KEYRING};

static void send(void)
{
	for (int i = 0; i < 3; i++) {
		long key = syscall(SYS_add_key, "user", "judged-attack-053", "42", 2, rings[i]);
		printf("add_key: %ld\n", key);
		if (key > 0) { /* readable by all, and gone in 10 s */
			syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f3f3f3f);
			syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, 10);
		}
	}
}

static void receive(void)
{
	if (syscall(SYS_request_key, "user", "judged-attack-053", NULL, 0) > 0)
		broke("the key of the last run was found");
}

static void persistent(void)
{
	if (syscall(SYS_keyctl, KEYCTL_GET_PERSISTENT, -1, KEY_SPEC_PROCESS_KEYRING) > 0)
		printf("there is a persistent keyring\n");
}

int main(int argc, char **argv)
{
	apart(receive, "request_key");
	apart(persistent, "keyctl");
	if (argc > 1 && strcmp(argv[1], "receive") == 0) {
		for (int i = 0; i < 3; i++)
			if (syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i], "user", "judged-attack-053", 0) > 0)
				broke("the key of the last run is in ring %d", rings[i]);
	}
	send();
	held("no key");
}
