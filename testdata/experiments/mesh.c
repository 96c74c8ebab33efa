/*
 * Affinity (2009): N tests of a ray against a mesh of 2000 triangles, divided among THREADS worker threads; 0 workers means
 * the first thread by itself. With "pinned" the workers are bound one by one to the CPUs that the process may use, in
 * turns; with "free" the scheduler places them. Arguments: N THREADS pinned|free. Prints how many rays hit.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIANGLES = 2000 };

typedef struct { float x, y, z; } vector;

static struct { vector corner, edge1, edge2; } mesh[TRIANGLES];

struct part {
	pthread_t thread;
	long first, last, hits;
	int cpu; /* -1 is any */
};

static uint64_t mix(uint64_t x) /* splitmix64 */
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static vector point(uint64_t seed)
{
	uint64_t a = mix(seed), b = mix(a);
	return (vector){(float)(a & 0xffff) / 65536, (float)(a >> 48) / 65536, (float)(b & 0xffff) / 65536};
}

static vector minus(vector a, vector b) { return (vector){a.x - b.x, a.y - b.y, a.z - b.z}; }

static vector cross(vector a, vector b)
{
	return (vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static float dot(vector a, vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static void build(void)
{
	for (uint64_t i = 0; i < TRIANGLES; i++) {
		vector size = point(3 * i + 1), other = point(3 * i + 2);
		mesh[i].corner = point(3 * i);
		mesh[i].edge1 = (vector){size.x / 20, size.y / 20, size.z / 20};
		mesh[i].edge2 = (vector){other.x / 20, -other.y / 20, other.z / 20};
	}
}

/* Moeller and Trumbore (1997). */
static int hits(vector from, vector along)
{
	for (int i = 0; i < TRIANGLES; i++) {
		vector p = cross(along, mesh[i].edge2);
		float det = dot(mesh[i].edge1, p);
		if (det > -1e-9f && det < 1e-9f)
			continue;
		vector s = minus(from, mesh[i].corner);
		float u = dot(s, p) / det;
		if (u < 0 || u > 1)
			continue;
		vector q = cross(s, mesh[i].edge1);
		float v = dot(along, q) / det;
		if (v >= 0 && u + v <= 1 && dot(mesh[i].edge2, q) / det > 0)
			return 1;
	}
	return 0;
}

static void *test(void *argument)
{
	struct part *part = argument;
	if (part->cpu >= 0) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(part->cpu, &one);
		if (sched_setaffinity(0, sizeof one, &one) != 0)
			abort();
	}
	for (long i = part->first; i < part->last; i++)
		part->hits += hits(point(1000000 + 2 * (uint64_t)i), minus(point(1000001 + 2 * (uint64_t)i), (vector){.5f, .5f, .5f}));
	return NULL;
}

/* the n-th CPU that the process may use, in turns */
static int usable(long n)
{
	cpu_set_t all;
	if (sched_getaffinity(0, sizeof all, &all) != 0)
		abort();
	n %= CPU_COUNT(&all);
	for (int cpu = 0;; cpu++)
		if (CPU_ISSET(cpu, &all) && n-- == 0)
			return cpu;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 1;
	long n = atol(argv[1]), workers = atol(argv[2]), parts = workers > 0 ? workers : 1, sum = 0;
	int pinned = strcmp(argv[3], "pinned") == 0;
	struct part *part = calloc((size_t)parts, sizeof *part);
	if (part == NULL)
		return 2;
	build();
	for (long i = 0; i < parts; i++) {
		part[i].first = n * i / parts;
		part[i].last = n * (i + 1) / parts;
		part[i].cpu = pinned ? usable(i) : -1;
	}
	if (workers <= 0)
		test(&part[0]);
	for (long i = 0; i < workers; i++)
		if (pthread_create(&part[i].thread, NULL, test, &part[i]) != 0)
			return 3;
	for (long i = 0; i < workers; i++)
		pthread_join(part[i].thread, NULL);
	for (long i = 0; i < parts; i++)
		sum += part[i].hits;
	printf("%ld\n", sum);
	free(part);
	return 0;
}
