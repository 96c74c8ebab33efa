/* Tells the run next to it bits by taking and giving back 48 MiB, which it sees
 * in the free memory of sysinfo. sysinfo is about the machine and in no
 * namespace; it is allowed, because runtimes size their heaps by the total. Two
 * runs at once also feel each other in caches and memory bandwidth. So both
 * verdicts are allowed. */
#include "attack.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>

#define PATTERN 0xa5u
#define PERIOD_MS 60
#define AMOUNT (48 << 20)

static long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	int64_t sums[8] = {0}, counts[8] = {0}, high = 0, low = INT64_MAX;
	int sends = argc > 1 && strcmp(argv[1], "send") == 0;
	void *memory = NULL;
	for (long end = now_ms() + 2 * 8 * PERIOD_MS; now_ms() < end; nanosleep(&(struct timespec){0, 4000000}, NULL)) {
		int bit = now_ms() / PERIOD_MS % 8;
		struct sysinfo info;
		if (!sends && sysinfo(&info) < 0)
			held("sysinfo: %s", strerror(errno));
		if (!sends) {
			sums[bit] += (int64_t)info.freeram * info.mem_unit;
			counts[bit]++;
		} else if ((PATTERN >> bit & 1) && !memory) {
			memory = mmap(NULL, AMOUNT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		} else if (!(PATTERN >> bit & 1) && memory) {
			munmap(memory, AMOUNT);
			memory = NULL;
		}
	}
	if (sends)
		held("sent %02x", PATTERN);
	unsigned got = 0;
	for (int i = 0; i < 8; i++) {
		sums[i] /= counts[i] ? counts[i] : 1;
		high = sums[i] > high ? sums[i] : high;
		low = sums[i] < low ? sums[i] : low;
	}
	for (int i = 0; i < 8; i++)
		got |= (unsigned)(sums[i] < (high + low) / 2) << i;
	if (got == PATTERN && high - low > AMOUNT / 2)
		broke("received %02x: free memory moves by %lld MiB", got, (long long)(high - low) >> 20);
	held("received %02x, free memory moves by %lld MiB", got, (long long)(high - low) >> 20);
}
