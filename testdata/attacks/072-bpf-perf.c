/* Loads a program and makes a map in the kernel (bpf), and counts by perf: the
 * verifier and perf have given root more than once (CVE-2020-8835,
 * CVE-2021-3490, CVE-2013-2094), and perf's counters are a sharper clock on
 * neighbours. What must stop it: seccomp kills. */
#include "attack.h"
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>

static void program(void)
{
	static const struct bpf_insn exit0[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 2, .insns = (uintptr_t)exit0, .license = (uintptr_t)"GPL"};
	if (syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof a) >= 0)
		broke("a bpf program");
}

static void map(void)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
	if (syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof a) >= 0)
		broke("a bpf map");
}

static void perf(uint32_t type, uint64_t config, int cpu)
{
	struct perf_event_attr a = {.type = type, .size = sizeof a, .config = config, .exclude_kernel = 1, .exclude_hv = 1};
	if (syscall(SYS_perf_event_open, &a, cpu < 0 ? 0 : -1, cpu, -1, 0) >= 0)
		broke("perf type %u, config %llu", type, (unsigned long long)config);
}

static void perf_cpu(void)
{
	perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0);
}

int main(void)
{
	apart(program, "bpf program");
	apart(map, "bpf map");
	apart(perf_cpu, "perf on a CPU");
	perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, -1);
	held("perf: %s", strerror(errno));
}
