/* Hold memory in System V and POSIX IPC objects, which outlive their process: a
 * segment of 1 GiB, semaphores, messages. What must stop it: seccomp; behind it a
 * fresh IPC namespace that ends with the run, and RLIMIT_MSGQUEUE 0. What is made is
 * removed here, it may be the host's. */
#include "attack.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int main(void)
{
	int failed = 0, id;
	if ((id = shmget(IPC_PRIVATE, 1UL << 30, IPC_CREAT | 0600)) >= 0)
		failed |= 1, shmctl(id, IPC_RMID, NULL);
	if ((id = semget(IPC_PRIVATE, 32000, IPC_CREAT | 0600)) >= 0)
		failed |= 2, semctl(id, 0, IPC_RMID);
	if ((id = msgget(IPC_PRIVATE, IPC_CREAT | 0600)) >= 0)
		failed |= 4, msgctl(id, IPC_RMID, NULL);
	struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = 8192};
	if (mq_open("/judged-attack", O_CREAT | O_EXCL | O_RDWR, 0600, &attributes) >= 0)
		failed |= 8, mq_unlink("/judged-attack");
	if (failed)
		broke("made objects, bits %x", failed);
	held("no IPC objects: %s", strerror(errno));
}
