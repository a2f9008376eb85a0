/* SPDX-License-Identifier: BSD-2-Clause
 *
 * reach.c - see reach.h.
 *
 * Invariant: nothing here waits for the child longer than it has a reason to: while it runs, or
 * wants to, it is working.
 */
#include "userspace/base/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "userspace/base/array.h"
#include "userspace/base/child.h"
#include "userspace/base/cleanup.h"

#define PATIENCE_MS 5000
#define LESS_MS 1000 /* after one that did not answer */
#define HASTE_MS 100 /* after … */
#define MANY 3	     /* … so many */
#define TURN_MS 50
#define DIRECTORIES_MOST 1000

struct sp_reach_answer {
	char *bytes;
	size_t size, room;
};

struct sp_reach {
	struct sp_child child; /* its fd is a socket */
	unsigned unanswered;
	char **directories; /* of files that were not answered for */
	size_t n_directories, directories_room;
};

struct request {
	sp_reach_body body;
	size_t size;
};

struct response {
	int result;
	size_t size;
};

int sp_reach_new(struct sp_reach **ret_reach)
{
	struct sp_reach *reach = calloc(1, sizeof(*reach));

	if (!reach)
		return -ENOMEM;
	reach->child.fd = -1;
	*ret_reach = reach;
	return 0;
}

void sp_reach_free(struct sp_reach *reach)
{
	if (!reach)
		return;
	sp_child_end(&reach->child, true);
	for (size_t i = 0; i < reach->n_directories; i++)
		free(reach->directories[i]);
	free(reach->directories);
	free(reach);
}

bool sp_reach_put(struct sp_reach_answer *answer, const void *bytes, size_t size)
{
	if (answer->room - answer->size < size) {
		size_t room = answer->size + size;
		char *grown = realloc(answer->bytes, room);

		if (!grown)
			return false;
		answer->bytes = grown;
		answer->room = room;
	}
	if (size)
		memcpy(answer->bytes + answer->size, bytes, size);
	answer->size += size;
	return true;
}

/* ---- the child ---- */

static bool receive_all(int fd, void *bytes, size_t size)
{
	while (size) {
		ssize_t n = recv(fd, bytes, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = (char *)bytes + n;
		size -= (size_t)n;
	}
	return true;
}

static bool serve_one(int fd)
{
	struct request request;
	struct sp_reach_answer answer = {0};
	struct response response = {.result = -ENOMEM};
	sp_cleanup(sp_freep) void *question = NULL;
	bool sent;

	if (!receive_all(fd, &request, sizeof(request)))
		return false;
	question = malloc(request.size + 1);
	if (!question || !receive_all(fd, question, request.size))
		return false;
	response.result = request.body(question, &answer);
	response.size = answer.size;
	sent = sp_child_send(fd, &response, sizeof(response)) &&
	       sp_child_send(fd, answer.bytes, answer.size);
	free(answer.bytes);
	return sent;
}

static int run_child(const void *unused, int fd, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)unused;
	/* Nobody who reads what this program writes, or waits for a file that it has locked, is to
	 * wait for a child that hangs. */
	dup2(null, STDIN_FILENO);
#ifndef __SANITIZE_ADDRESS__ /* which has its words there */
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
#endif
	fd = dup2(fd, STDERR_FILENO + 1);
	close_range((unsigned)fd + 1, ~0u, 0);
	do {
		/* Again, since it is forgotten where a question changes the ids. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			break;
	} while (serve_one(fd));
	return 0;
}

/* ---- who asks ---- */

static size_t directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static bool is_silent(const struct sp_reach *reach, const char *path)
{
	size_t length = directory_length(path);

	for (size_t i = 0; i < reach->n_directories; i++)
		if (!strncmp(reach->directories[i], path, length) && !reach->directories[i][length])
			return true;
	return false;
}

/* Without memory for it, it will be asked for again. */
static void note_silent(struct sp_reach *reach, const char *path)
{
	char **kept;

	reach->unanswered++;
	if (reach->n_directories == DIRECTORIES_MOST)
		return;
	kept = sp_array_add(&reach->directories, &reach->n_directories, &reach->directories_room);
	if (kept)
		*kept = strndup(path, directory_length(path));
	if (kept && !*kept)
		reach->n_directories--;
}

static uint64_t patience_ms(const struct sp_reach *reach)
{
	if (!reach->unanswered)
		return PATIENCE_MS;
	return reach->unanswered < MANY ? LESS_MS : HASTE_MS;
}

/* Reads @size bytes from the child. */
static int hear(struct sp_reach *reach, struct sp_child_pulse *pulse, void *bytes, size_t size)
{
	while (size) {
		struct pollfd polled = {.fd = reach->child.fd, .events = POLLIN};
		int ready = poll(&polled, 1, TURN_MS);
		ssize_t n;

		if (ready <= 0) {
			if (sp_child_rest_ms(&reach->child, pulse) >= patience_ms(reach))
				return -ETIMEDOUT;
			continue;
		}
		n = recv(reach->child.fd, bytes, size, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -EPIPE;
		bytes = (char *)bytes + n;
		size -= (size_t)n;
	}
	return 0;
}

static int ask_child(struct sp_reach *reach, const struct request *request, const void *question,
		     struct response *ret_response, void **ret_bytes)
{
	struct sp_child_pulse pulse = {0};
	sp_cleanup(sp_freep) void *bytes = NULL;
	int r = reach->child.pid ? 0 : sp_child_start_socket(run_child, NULL, &reach->child);

	if (r < 0)
		return r;
	/* A question fits the socket. */
	if (!sp_child_send(reach->child.fd, request, sizeof(*request)) ||
	    !sp_child_send(reach->child.fd, question, request->size))
		return -EPIPE;
	r = hear(reach, &pulse, ret_response, sizeof(*ret_response));
	if (r == 0 && ret_response->size) {
		bytes = malloc(ret_response->size);
		r = bytes ? hear(reach, &pulse, bytes, ret_response->size) : -ENOMEM;
	}
	*ret_bytes = r == 0 ? sp_take(bytes) : NULL;
	return r;
}

int sp_reach_ask(struct sp_reach *reach, const char *path, sp_reach_body body, const void *question,
		 size_t size, void **ret_bytes, size_t *ret_size)
{
	const struct request request = {body, size};
	struct sp_reach_answer here = {0};
	struct response response;
	int r;

	*ret_bytes = NULL;
	*ret_size = 0;
	if (!reach) {
		r = body(question, &here);
		*ret_bytes = here.bytes;
		*ret_size = here.size;
		return r;
	}
	if (is_silent(reach, path))
		return -ETIMEDOUT;
	r = ask_child(reach, &request, question, &response, ret_bytes);
	if (r < 0) { /* the next question gets another one */
		sp_child_end(&reach->child, true);
		if (r == -ETIMEDOUT)
			note_silent(reach, path);
		return r;
	}
	*ret_size = response.size;
	return response.result;
}
