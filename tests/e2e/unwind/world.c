/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/e2e/unwind/world.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loader/rings.h"
#include "loader/sampler.h"

#define SAMPLES_A_SECOND 1999

/* Takes on registers, and stays. */
void world_spin(const uint64_t *regs) __attribute__((noreturn));
void world_call(const uint64_t *regs) __attribute__((noreturn));
extern const char world_spin_here[], world_call_here[];
uint64_t world_target; /* where it stays */

#define TAKE_REGISTERS \
	"movq 0(%rdi), %rax\n movq 8(%rdi), %rdx\n movq 16(%rdi), %rcx\n movq 24(%rdi), %rbx\n" \
	"movq 32(%rdi), %rsi\n movq 48(%rdi), %rbp\n movq 56(%rdi), %rsp\n movq 64(%rdi), %r8\n" \
	"movq 72(%rdi), %r9\n movq 80(%rdi), %r10\n movq 88(%rdi), %r11\n movq 96(%rdi), %r12\n" \
	"movq 104(%rdi), %r13\n movq 112(%rdi), %r14\n movq 120(%rdi), %r15\n movq 40(%rdi), " \
	"%rdi\n"

__asm__(".text\n"
	".globl world_spin, world_call, world_spin_here, world_call_here\n"
	".balign 4096\n"
	"world_spin:\n" TAKE_REGISTERS "jmp *world_target(%rip)\n"
	".balign 16\n"
	"world_spin_here: jmp world_spin_here\n"
	".balign 4096\n"
	"world_call:\n" TAKE_REGISTERS "1: xorl %eax, %eax\n"
	"syscall\n"
	"world_call_here: jmp 1b\n"
	".balign 4096\n");

struct lab {
	struct sp_bpf *bpf;
	struct sp_rings *rings;
	struct sp_sampler *sampler;
	struct sp_unwind_chunk *chunk;
	uint32_t chunk_number, rows, rules, ranges;
	/* The run that goes on. */
	pid_t pid;
	uint32_t process;
	uint64_t here;
	const struct world *world;
	struct world_sample *sample;
	unsigned passed_over;
	bool any_address, want_copy, done;
};

uint64_t world_here(const struct world *w)
{
	if (w->spin == WORLD_ON_STACK)
		return WORLD_STACK;
	return (uintptr_t)(w->spin == WORLD_SYSCALL ? world_call_here : world_spin_here);
}

void world_spin_for_ever(void)
{
	uint64_t circle[2] = {(uintptr_t)circle, (uintptr_t)world_spin_here};
	uint64_t regs[16] = {[RSP] = (uintptr_t)&regs, [RBP] = (uintptr_t)circle};

	world_target = (uintptr_t)world_spin_here;
	world_spin(regs);
}

uint64_t *world_stack(void)
{
	static uint64_t *stack;

	if (!stack) {
		size_t bytes = WORLD_STACK_WORDS * 8;

		stack = mmap((void *)WORLD_STACK, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (stack == MAP_FAILED) {
			perror("mmap");
			exit(1);
		}
	}
	return stack;
}

static void on_sample(struct lab *lab, const struct sp_ev_sample *ev)
{
	struct world_sample *s = lab->sample;
	bool in_kernel = ev->head.flags & SP_SAMPLE_KERNEL;

	enum world_spin spin = lab->world->spin;

	if (s->ev.head.type || in_kernel != lab->world->in_kernel ||
	    (!lab->any_address && spin != WORLD_EXEC && ev->ip != lab->here))
		return;
	if ((ev->pid == (uint32_t)lab->pid) == (spin == WORLD_FORK) ||
	    (ev->process == lab->process) == (spin == WORLD_FORK || spin == WORLD_EXEC))
		return;
	if (lab->passed_over++ < lab->world->pass_over)
		return;
	s->ev = *ev;
	memcpy(s->stack, ev + 1, ev->tail_bytes);
	lab->done = !lab->want_copy;
}

static void on_event(void *arg, unsigned cpu, const struct sp_head *event, size_t bytes)
{
	struct lab *lab = arg;
	const struct sp_ev_task *task = (const void *)event;
	const struct sp_ev_stack_copy *copy = (const void *)event;

	(void)cpu;
	(void)bytes;
	if (!lab->sample)
		return;
	if (event->type == SP_EV_task && task->pid == (uint32_t)lab->pid && !lab->process)
		lab->process = task->process;
	if (event->type == SP_EV_sample && lab->process)
		on_sample(lab, (const void *)event);
	if (event->type == SP_EV_stack_copy && copy->time == lab->sample->ev.time &&
	    event->lane == lab->sample->ev.head.lane) {
		lab->sample->copy = *copy;
		memcpy(lab->sample->words, copy + 1, copy->tail_bytes);
		lab->done = true;
	}
}

void lab_open(unsigned stacks, bool kernel_stacks, size_t copy_bytes, struct lab **ret_lab)
{
	struct sp_bpf_options options = {
		.call_ring_bytes = 4096,
		.sample_ring_bytes = 1u << 20,
		.control_ring_bytes = 1u << 20,
		.max_sites = 64,
		.stacks = stacks,
		.kernel_stacks = kernel_stacks,
		.copy_bytes = copy_bytes,
	};
	struct lab *lab = calloc(1, sizeof(*lab));
	const char *event;
	int r = lab ? sp_bpf_new(&options, &lab->bpf) : -1;

	if (r == 0)
		r = sp_bpf_attach_tasks(lab->bpf);
	if (r == 0)
		r = sp_rings_new(lab->bpf, on_event, lab, &lab->rings);
	if (r == 0)
		r = sp_sampler_start(lab->bpf, NULL, SAMPLES_A_SECOND, &lab->sampler, &event);
	if (r == 0 && (stacks == SP_STACKS_EH || stacks == SP_STACKS_DWARF))
		r = sp_bpf_unwind_add_chunk(lab->bpf, &lab->chunk, &lab->chunk_number);
	if (r < 0) {
		fprintf(stderr, "cannot record here: %s\n", strerror(-r));
		exit(getenv("CI") ? 1 : 77);
	}
	lab->want_copy = stacks == SP_STACKS_DWARF;
	lab->any_address = stacks == SP_STACKS_NONE;
	lab->rules = 1;
	sp_bpf_enable(lab->bpf);
	*ret_lab = lab;
}

void lab_close(struct lab *lab)
{
	sp_sampler_free(lab->sampler);
	sp_rings_free(lab->rings);
	sp_bpf_free(lab->bpf);
	free(lab);
}

struct sp_bpf *lab_bpf(struct lab *lab)
{
	return lab->bpf;
}

struct sp_unwind_chunk *lab_chunk(struct lab *lab)
{
	return lab->chunk;
}

uint32_t lab_rows(struct lab *lab, uint32_t count)
{
	uint32_t first = lab->rows;

	lab->rows += count;
	if (lab->rows > SP_UNWIND_CHUNK_ROWS)
		abort();
	return first;
}

uint16_t lab_rule(struct lab *lab, struct sp_unwind_rule rule)
{
	if (lab->rules >= SP_UNWIND_RULES)
		abort();
	sp_bpf_unwind_rules(lab->bpf)[lab->rules] = rule;
	return (uint16_t)lab->rules++;
}

/* Function 0, then the others with a table of their own, then what else there is; by address. */
static struct sp_unwind_space make_ranges(struct lab *lab, const struct world *w)
{
	struct sp_unwind_range *to = sp_bpf_unwind_ranges(lab->bpf) + lab->ranges;
	struct sp_unwind_space space = {.first = lab->ranges};
	uint32_t row = lab_rows(lab, WORLD_FUNCTIONS + 1), rows = w->second ? 2 : 1;
	uint64_t at = world_here(w), page = at & ~0xfffull;
	uint64_t bytes = w->spin == WORLD_ON_STACK ? WORLD_STACK_WORDS * 8 : 4096;
	struct sp_unwind_range here = {.start = page,
				       .end = page + bytes,
				       .base = page,
				       .chunk = lab->chunk_number,
				       .first = row,
				       .count = w->no_table ? 0 : rows,
				       .flags = w->flags};
	struct sp_unwind_range others = {.start = WORLD_FUNCTION(1),
					 .end = WORLD_FUNCTION(WORLD_FUNCTIONS),
					 .base = WORLD_CODE,
					 .chunk = lab->chunk_number,
					 .first = row + 2,
					 .count = WORLD_FUNCTIONS - 1};

	lab->chunk->pc[row] = w->before_row ? (uint32_t)(at - page) + w->before_row : 0;
	lab->chunk->rule[row] = lab_rule(lab, w->rules[0]);
	lab->chunk->pc[row + 1] = (uint32_t)(at - page);
	lab->chunk->rule[row + 1] = lab_rule(lab, w->rules[w->second]);
	for (uint32_t i = 1; i < WORLD_FUNCTIONS; i++) {
		lab->chunk->pc[row + 1 + i] = (uint32_t)(WORLD_FUNCTION(i) - WORLD_CODE);
		lab->chunk->rule[row + 1 + i] = lab_rule(lab, w->rules[i]);
	}
	to[space.count++] = others;
	for (unsigned i = 0; i < w->more_count; i++) /* behind the others, in order */
		to[space.count++] = w->more[i];
	if (page < to[0].start) {
		memmove(to + 1, to, space.count * sizeof(*to));
		to[0] = here;
	} else {
		to[space.count] = here;
	}
	lab->ranges += ++space.count;
	return space;
}

static void live(const struct world *w, int go)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, &c, 1) != 1)
		_exit(1);
	if (w->spin == WORLD_EXEC) {
		execl("/proc/self/exe", "world", "spin", (char *)NULL);
		_exit(1);
	}
	if (w->spin == WORLD_FORK) {
		pid_t child = fork();

		if (child) {
			waitpid(child, NULL, 0);
			_exit(1);
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	if (w->spin == WORLD_SYSCALL)
		world_call(w->regs);
	world_target = world_here(w);
	world_spin(w->regs);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void watch(struct lab *lab, const struct world *w, int go)
{
	uint64_t until = now_ms() + 30000;
	unsigned fill;

	if (sp_bpf_add_target(lab->bpf, lab->pid, false) < 0 || sp_bpf_find_tasks(lab->bpf) < 0)
		return;
	while (!lab->process && now_ms() < until)
		sp_rings_drain_control(lab->rings);
	if (lab->chunk)
		(void)sp_bpf_unwind_set_space(lab->bpf, lab->process, make_ranges(lab, w));
	if (write(go, "", 1) != 1)
		return;
	while (!lab->done && now_ms() < until) {
		usleep(1000);
		sp_rings_drain_control(lab->rings);
		sp_rings_drain(lab->rings, &fill);
	}
}

bool lab_run(struct lab *lab, const struct world *w, struct world_sample *ret_sample)
{
	unsigned fill;
	int go[2];

	memset(ret_sample, 0, sizeof(*ret_sample));
	if (pipe2(go, O_CLOEXEC))
		return false;
	lab->process = 0;
	lab->passed_over = 0;
	lab->done = false;
	lab->here = world_here(w);
	lab->world = w;
	lab->pid = fork();
	if (lab->pid == 0)
		live(w, go[0]);
	lab->sample = ret_sample;
	watch(lab, w, go[1]);
	lab->sample = NULL;
	kill(lab->pid, SIGKILL);
	waitpid(lab->pid, NULL, 0);
	close(go[0]);
	close(go[1]);
	if (lab->chunk)
		(void)sp_bpf_unwind_forget_space(lab->bpf, lab->process);
	sp_rings_drain_control(lab->rings);
	sp_rings_drain(lab->rings, &fill);
	return lab->done;
}
