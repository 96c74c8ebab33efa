/* A process whose first thread exits while another one goes on. */
#ifndef LEADERLESS_H
#define LEADERLESS_H

#include "burn.h"
#include <pthread.h>
#include <sys/syscall.h>

/* behead: the calling thread, which must be the first of its process, exits and
 * work goes on without it. */
__attribute__((noreturn, unused)) static void behead(void *(*work)(void *))
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		broke("cannot try: pthread_create");
	syscall(SYS_exit, 0); /* this thread only */
	__builtin_unreachable();
}

#endif
