/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_walk.c - walks one stack after the other, by libdw's frame iterator.
 *
 * libdw reads registers and memory from the copy alone (and constants from the files). Before it
 * leaves a frame, the file there is made known to it. A walk ends after SP_MAX_FRAMES frames,
 * whatever the tables say.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/unwind_dwarf_walker.h"

#define THREAD 1 /* libdw wants a process and a thread to have numbers */

/* ---- what libdw asks for ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **ret_thread)
{
	(void)dwfl, (void)arg, (void)ret_thread;
	return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **ret_thread)
{
	(void)dwfl, (void)tid;
	*ret_thread = arg;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct sp_dwarf_walker *walker = arg;
	uint32_t address = walker->n_registers - 1;
	/* On x86-64 the address is a register, too; expressions for .plt use it. */
	uint32_t n = walker->n_registers == 17 ? 17 : address;

	if (!dwfl_thread_state_registers(thread, 0, n, walker->registers))
		return false;
	dwfl_thread_state_register_pc(thread, walker->registers[address]);
	return true;
}

static bool is_copied(const struct sp_dwarf_copy *copy, uint64_t address)
{
	return address - sp_dwarf_copy_start(copy) <= (uint64_t)copy->n_words * 8;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_word, void *arg)
{
	struct sp_dwarf_walker *walker = arg;
	const struct sp_dwarf_copy *copy = walker->copy;
	uint64_t at = address - sp_dwarf_copy_start(copy), bytes = (uint64_t)copy->n_words * 8;

	(void)dwfl;
	if ((bytes >= 8 && at <= bytes - 8) ||
	    sp_dwarf_space_read(walker->space, address, ret_word)) {
		if (bytes >= 8 && at <= bytes - 8)
			memcpy(ret_word, (const char *)copy->words + at, 8);
		walker->read_zero |= !*ret_word;
		return true;
	}
	walker->unreadable = true;
	/* What lies far off is a wrong address rather than a part of this stack. */
	walker->stack->copy_ended |=
		walker->switched || (at + 8 > bytes && at < (uint64_t)256 << 20);
	return false;
}

/* ---- frames ---- */

/* Whether the frame at an address is one that the kernel made for a signal. */
static bool is_signal_frame(const struct sp_dwarf_walker *walker, uint64_t address)
{
	Dwarf_Frame *frame = sp_dwarf_space_rule(walker->space, address);
	bool is_signal = false;

	if (frame && dwarf_frame_info(frame, NULL, NULL, &is_signal) < 0)
		is_signal = false;
	free(frame);
	return is_signal;
}

static bool is_exact(const struct sp_dwarf_walker *walker, uint32_t frame)
{
	return frame == 0 || (frame < 32 && walker->stack->signal_frames >> frame & 1);
}

/* The address that rules hold for: that of the call, not of what follows it. */
static uint64_t rule_address(const struct sp_dwarf_walker *walker, uint32_t frame)
{
	if (frame == walker->first)
		return walker->registers[walker->n_registers - 1];
	return walker->stack->frame[frame] - !is_exact(walker, frame);
}

static int stop(struct sp_dwarf_walker *walker, enum sp_stack_end end)
{
	walker->stack->end = end;
	return DWARF_CB_ABORT;
}

/* Whether the caller of the last frame that is kept was found without a rule. */
static bool was_guessed(const struct sp_dwarf_walker *walker)
{
	Dwarf_Frame *frame =
		sp_dwarf_space_rule(walker->space, rule_address(walker, walker->stack->frames - 1));

	free(frame);
	return !frame;
}

/* Whether the last frame that is kept is where the program begins. */
static bool was_entry(const struct sp_dwarf_walker *walker)
{
	return sp_dwarf_space_is_entry(walker->space,
				       rule_address(walker, walker->stack->frames - 1));
}

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct sp_dwarf_walker *walker = arg;
	struct sp_dwarf_stack *stack = walker->stack;
	uint32_t n = stack->frames;
	bool is_first = n == walker->first;
	enum sp_stack_end before = walker->missing;
	Dwarf_Addr pc;
	Dwarf_Word sp = 0;
	bool maybe_signal = false;

	if (!dwfl_frame_pc(state, &pc, NULL))
		return stop(walker, SP_STACK_UNSUPPORTED);
	if (!is_first && (!pc || was_entry(walker)))
		return stop(walker, SP_STACK_COMPLETE);
	if (n == SP_MAX_FRAMES)
		return stop(walker, SP_STACK_TRUNCATED);
	if (!is_first)
		stack->frame[n] = pc;
	walker->missing = sp_dwarf_space_need(walker->space, pc - !is_first, walker->copy->time);
	if (walker->missing == SP_STACK_NO_MAPPING && !is_first)
		walker->missing = sp_dwarf_space_need(walker->space, pc, walker->copy->time);
	/* Frame pointers lead anywhere, and libdw takes whatever stands there. */
	if (walker->missing == SP_STACK_NO_MAPPING && !is_first && was_guessed(walker))
		return stop(walker, before ? before : SP_STACK_NO_RULE);
	stack->leaf_guessed |= n == walker->first + 1 && was_guessed(walker);
	walker->unreadable = walker->read_zero = false;
	/* libdw says of an interrupted frame, and of the signal's own, that they are "activations".
	 */
	if (!is_first && n < 32 && dwfl_frame_pc(state, &pc, &maybe_signal) && maybe_signal &&
	    is_signal_frame(walker, rule_address(walker, n - 1)))
		stack->signal_frames |= 1u << n;
	if (dwfl_frame_reg(state, (unsigned)sp_dwarf_stack_pointer(walker->n_registers), &sp) != 0)
		sp = 0;
	/* Signals may run on a stack of their own, and a leaf may have no frame. */
	if (!is_first && !is_exact(walker, n) && sp &&
	    (sp < walker->sp || (sp == walker->sp && n > walker->first + 1)))
		return stop(walker, SP_STACK_NO_PROGRESS);
	walker->switched |= !is_first && is_exact(walker, n) && !is_copied(walker->copy, sp);
	walker->sp = sp;
	stack->frames = n + 1;
	return walker->missing == SP_STACK_NO_MAPPING ? stop(walker, SP_STACK_NO_MAPPING)
						      : DWARF_CB_OK;
}

/* Why libdw could not leave the last frame. */
static enum sp_stack_end why_it_failed(const struct sp_dwarf_walker *walker)
{
	const struct sp_dwarf_stack *stack = walker->stack;

	if (stack->frames <= walker->first || walker->missing != SP_STACK_UNKNOWN)
		return walker->missing;
	if (was_entry(walker))
		return SP_STACK_COMPLETE;
	if (was_guessed(walker))
		return SP_STACK_NO_RULE;
	return walker->unreadable || stack->copy_ended ? SP_STACK_UNREADABLE : SP_STACK_UNSUPPORTED;
}

/* libdw takes a return address that it could not read for one that is not there: the end of the
 * stack. It is the end where the rule says so, or where the address is 0. */
static enum sp_stack_end why_it_ended(const struct sp_dwarf_walker *walker)
{
	const struct sp_dwarf_stack *stack = walker->stack;
	int number = walker->n_registers == 17 ? 16 : 30;
	Dwarf_Frame *frame;
	Dwarf_Op room[3], *ops = NULL;
	size_t n = 1;
	bool undefined;

	if (stack->frames <= walker->first)
		return SP_STACK_UNSUPPORTED;
	frame = sp_dwarf_space_rule(walker->space, rule_address(walker, stack->frames - 1));
	undefined = frame && dwarf_frame_register(frame, number, room, &ops, &n) == 0 && !n &&
		    ops == room;
	free(frame);
	if (undefined || was_entry(walker))
		return SP_STACK_COMPLETE;
	if (walker->unreadable)
		return SP_STACK_UNREADABLE;
	if (walker->read_zero)
		return SP_STACK_COMPLETE;
	return stack->copy_ended ? SP_STACK_UNREADABLE : SP_STACK_UNSUPPORTED;
}

/* ---- spaces ---- */

static struct sp_dwarf_space *attach(struct sp_dwarf_walker *walker, uint32_t process)
{
	struct sp_dwarf_space *space = sp_dwarf_space_new(walker->job, process);

	if (space && !dwfl_attach_state(sp_dwarf_space_dwfl(space), walker->machine, THREAD,
					&walker->callbacks, walker)) {
		sp_dwarf_space_free(space);
		return NULL;
	}
	return space;
}

/* The space of a process, in the place of the one unused longest. */
static struct sp_dwarf_space *find_space(struct sp_dwarf_walker *walker, uint32_t process)
{
	struct sp_dwarf_slot *oldest = &walker->slots[0];

	walker->clock++;
	for (size_t i = 0; i < SP_DWARF_SPACES; i++) {
		struct sp_dwarf_slot *slot = &walker->slots[i];

		if (slot->space && slot->process == process) {
			slot->used = walker->clock;
			return slot->space;
		}
		if (slot->used < oldest->used)
			oldest = slot;
	}
	sp_dwarf_space_free(oldest->space);
	*oldest = (struct sp_dwarf_slot){process, walker->clock, attach(walker, process)};
	return oldest->space;
}

static int learn_machine(struct sp_dwarf_walker *walker, uint32_t n_registers)
{
	walker->header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = n_registers == 17 ? EM_X86_64 : EM_AARCH64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(walker->header),
	};
	elf_version(EV_CURRENT);
	walker->machine = elf_memory((char *)&walker->header, sizeof(walker->header));
	walker->n_registers = n_registers;
	return walker->machine ? 0 : -ENOMEM;
}

struct sp_dwarf_walker *sp_dwarf_walker_new(const struct sp_dwarf_job *job)
{
	struct sp_dwarf_walker *walker = calloc(1, sizeof(*walker));

	if (!walker)
		return NULL;
	walker->job = job;
	walker->callbacks = (Dwfl_Thread_Callbacks){
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};
	return walker;
}

int sp_dwarf_walk(struct sp_dwarf_walker *walker, const struct sp_dwarf_copy *copy,
		  struct sp_dwarf_stack *ret_stack)
{
	int r;

	*ret_stack = (struct sp_dwarf_stack){.end = SP_STACK_UNKNOWN};
	if (sp_dwarf_stack_pointer(copy->n_registers) < 0 ||
	    (walker->machine && copy->n_registers != walker->n_registers))
		return 0;
	if (!walker->machine && learn_machine(walker, copy->n_registers) < 0)
		return -ENOMEM;
	walker->space = find_space(walker, copy->process);
	if (!walker->space)
		return -ENOMEM;
	walker->copy = copy;
	walker->stack = ret_stack;
	walker->sp = 0;
	walker->missing = SP_STACK_UNKNOWN;
	walker->unreadable = walker->read_zero = walker->switched = false;
	if (!sp_dwarf_begin(walker))
		return 0;
	r = dwfl_getthread_frames(sp_dwarf_space_dwfl(walker->space), THREAD, on_frame, walker);
	if (r == 0)
		ret_stack->end = why_it_ended(walker);
	else if (r < 0)
		ret_stack->end = why_it_failed(walker);
	/* What could not be read was a register that nobody asked for. */
	if (ret_stack->end == SP_STACK_COMPLETE || ret_stack->end == SP_STACK_TRUNCATED)
		ret_stack->copy_ended = false;
	return 0;
}

void sp_dwarf_walker_free(struct sp_dwarf_walker *walker)
{
	if (!walker)
		return;
	for (size_t i = 0; i < SP_DWARF_SPACES; i++)
		sp_dwarf_space_free(walker->slots[i].space);
	elf_end(walker->machine);
	free(walker);
}
