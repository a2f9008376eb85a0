/* SPDX-License-Identifier: BSD-2-Clause
 *
 * hangs.c - a FUSE file system with one file in it, "app", which is another file's content, and
 * that stops answering when it gets SIGUSR1: who asks for anything waits until it is killed; with
 * SIGUSR2 only who reads.
 *
 *	hangs DIRECTORY FILE
 *
 * Says "mounted". The kernel keeps the pages of the file that it has, but asks for everything else,
 * each time. To be unmounted by who started it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE 2 /* the file's; the directory is FUSE_ROOT_ID */

static volatile sig_atomic_t silent; /* the signal's number */
static struct stat of_file;
static int fuse, file;

static void on_signal(int number)
{
	silent = number;
}

static void answer(const struct fuse_in_header *in, int error, const void *body, size_t bytes)
{
	static char out[sizeof(struct fuse_out_header) + (1 << 17)];
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + bytes), .error = -error, .unique = in->unique};

	memcpy(out, &head, sizeof(head));
	if (bytes)
		memcpy(out + sizeof(head), body, bytes);
	if (write(fuse, out, head.len) < 0 && errno != ENOENT) /* interrupted meanwhile */
		exit(1);
}

static struct fuse_attr attributes(uint64_t node)
{
	bool is_file = node == NODE;

	return (struct fuse_attr){
		.ino = node,
		.size = is_file ? (uint64_t)of_file.st_size : 0,
		.mtime = (uint64_t)of_file.st_mtim.tv_sec,
		.ctime = (uint64_t)of_file.st_ctim.tv_sec,
		.mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = is_file ? 1 : 2,
		.blksize = 4096,
	};
}

static void serve(const struct fuse_in_header *in, const void *body)
{
	static char data[1 << 17];
	const struct fuse_read_in *want = body;
	ssize_t n;

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0,
		       &(struct fuse_init_out){.major = FUSE_KERNEL_VERSION,
					       .minor = 31,
					       .max_readahead = 0,
					       .max_write = 1 << 16,
					       .max_background = 16},
		       sizeof(struct fuse_init_out));
		break;
	case FUSE_LOOKUP:
		if (strcmp(body, "app"))
			answer(in, ENOENT, NULL, 0);
		else
			answer(in, 0,
			       &(struct fuse_entry_out){.nodeid = NODE, .attr = attributes(NODE)},
			       sizeof(struct fuse_entry_out));
		break;
	case FUSE_GETATTR:
		answer(in, 0, &(struct fuse_attr_out){.attr = attributes(in->nodeid)},
		       sizeof(struct fuse_attr_out));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in, 0, &(struct fuse_open_out){.open_flags = FOPEN_KEEP_CACHE},
		       sizeof(struct fuse_open_out));
		break;
	case FUSE_READ:
		n = pread(file, data, want->size < sizeof(data) ? want->size : sizeof(data),
			  (off_t)want->offset);
		answer(in, n < 0 ? EIO : 0, data, n < 0 ? 0 : (size_t)n);
		break;
	case FUSE_STATFS:
		answer(in, 0, &(struct fuse_statfs_out){.st = {.bsize = 4096, .namelen = 255}},
		       sizeof(struct fuse_statfs_out));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_READDIR:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* not answered */
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static union {
		struct fuse_in_header head;
		char bytes[FUSE_MIN_READ_BUFFER + (1 << 17)];
	} request;
	char options[128];
	ssize_t n;

	if (argc != 3)
		return 9;
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	file = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fuse < 0 || file < 0 || fstat(file, &of_file))
		return 77;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse);
	if (mount("hangs", argv[1], "fuse", MS_NODEV | MS_NOSUID, options))
		return 77;
	puts("mounted");
	fflush(stdout);
	for (;;) {
		n = read(fuse, &request, sizeof(request));
		if (n < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN)
			return errno == ENODEV ? 0 : 1;
		if (n >= (ssize_t)sizeof(request.head) && silent != SIGUSR1 &&
		    (silent != SIGUSR2 || request.head.opcode != FUSE_READ))
			serve(&request.head, request.bytes + sizeof(request.head));
	}
}
