/* Leaves System V objects and a POSIX queue behind, which outlive the process
 * that made them, and looks for those of the last run. What must stop it is
 * seccomp, and behind it a fresh ipc namespace. */
#include "attack.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define KEY 0x4a554447
#define QUEUE "/judged-attack-052"

static void send(void)
{
	int shm = shmget(KEY, 4096, IPC_CREAT | 0666);
	int sem = semget(KEY, 1, IPC_CREAT | 0666);
	int msg = msgget(KEY, IPC_CREAT | 0666);
	struct mq_attr one = {.mq_maxmsg = 1, .mq_msgsize = 8};
	int mq = mq_open(QUEUE, O_CREAT | O_RDWR, 0666, &one);
	held("shm %d, sem %d, msg %d, mq %d", shm, sem, msg, mq);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "send") == 0)
		send();
	int shm = shmget(KEY, 0, 0), sem = semget(KEY, 0, 0), msg = msgget(KEY, 0), mq = mq_open(QUEUE, O_RDONLY);
	/* Also with what a run of the same user may remove. */
	if (shm >= 0)
		shmctl(shm, IPC_RMID, NULL);
	if (sem >= 0)
		semctl(sem, 0, IPC_RMID);
	if (msg >= 0)
		msgctl(msg, IPC_RMID, NULL);
	if (mq >= 0)
		mq_unlink(QUEUE);
	if (shm >= 0 || sem >= 0 || msg >= 0 || mq >= 0)
		broke("found shm %d, sem %d, msg %d, mq %d", shm, sem, msg, mq);
	/* Ids count up in a namespace: a first object that is not number 0 tells of others. */
	int fresh = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	if (fresh >= 0)
		shmctl(fresh, IPC_RMID, NULL);
	if (fresh > 0)
		broke("the first segment has the id %d", fresh);
	held("no object");
}
