/* Looks for an earlier run in what scheduling carries: policy, nice value, I/O
 * priority, affinity, blocked signals, timer slack. The sender changes what it
 * can. What must stop it: seccomp refuses policies and priorities; a run's
 * process is new and set up in full. Sessions are attack 139. */
#include "attack.h"
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

static void send(void)
{
	struct sched_param none = {0};
	sigset_t all;
	refused(sched_setscheduler(0, SCHED_IDLE, &none), "SCHED_IDLE");
	refused(sched_setscheduler(0, SCHED_BATCH, &none), "SCHED_BATCH");
	refused(setpriority(PRIO_PROCESS, 0, 19), "nice 19");
	refused(setpriority(PRIO_USER, 0, 19), "nice 19 for the user");
	refused(setpriority(PRIO_PGRP, 0, 19), "nice 19 for the group");
	refused(syscall(SYS_ioprio_set, 3 /* user */, getuid(), 3 << 13), "idle I/O");
	refused(prctl(PR_SET_TIMERSLACK, 1000000000, 0, 0, 0), "timer slack");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_IGN);
	umask(0777);
	held("changed what can be changed");
}

int main(int argc, char **argv)
{
	sigset_t blocked;
	struct itimerval timer;
	struct sigaction action;
	if (argc > 1 && strcmp(argv[1], "send") == 0)
		send();
	if (sched_getscheduler(0) != SCHED_OTHER || getpriority(PRIO_PROCESS, 0) != 0 || prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) != 50000)
		broke("policy %d, nice %d", sched_getscheduler(0), getpriority(PRIO_PROCESS, 0));
	if (sigprocmask(SIG_SETMASK, NULL, &blocked) < 0 || !sigisemptyset(&blocked))
		broke("signals are blocked");
	for (int i = 1; i < 65; i++)
		if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
			broke("signal %d is not as at first", i);
	if (umask(022) != 022)
		broke("another umask");
	if (getitimer(ITIMER_REAL, &timer) < 0 || timer.it_value.tv_sec || timer.it_value.tv_usec)
		broke("a timer runs");
	held("as at first");
}
