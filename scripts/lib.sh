# SPDX-License-Identifier: BSD-2-Clause
#
# lib.sh - what the scripts here share. Sourced by bash, never run.
#
# Everything that is said goes to stderr, results to stdout. A script that cannot go on ends with die():
# one sentence that names the thing, one that tells the remedy.

# shellcheck shell=bash

root_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "== $*" >&2; }
note() { printf '%s\n' "   $*" >&2; }

# die SENTENCE [REMEDY]
die() {
	printf '%s: %s\n' "${0##*/}" "$1" >&2
	[ $# -lt 2 ] || printf '%s: %s\n' "${0##*/}" "$2" >&2
	exit 1
}

# Prints the comment that a script opens with, from its name on.
show_help() { sed -n -e '1,3d' -e '/^#/!q' -e 's/^# \{0,1\}//p' "$0"; }

is_root() { [ "$(id -u)" = 0 ]; }

# Runs a command as root. Only what needs root goes through here.
as_root() {
	if is_root; then
		"$@"
	else
		sudo "$@"
	fi
}

# True if as_root() can work: root, or sudo without a password, or with somebody there to type it.
can_be_root() {
	is_root || { command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}

# True if this kernel can run BPF programs of ours, as far as one sees without root.
has_bpf() { [ "$(uname -s)" = Linux ] && [ -e /sys/kernel/btf/vmlinux ]; }

# build_in DIRECTORY [CMAKE OPTION]... [-- TARGET]...: configures and builds, quietly. All that cmake and
# the compilers print is in DIRECTORY/build.log, and is shown when they fail.
build_in() {
	local dir=$1 options=() targets=()

	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	targets=("$@")
	mkdir -p "$dir"
	[ -w "$dir" ] || die "$dir belongs to somebody else." \
		"It was made by root, perhaps: remove it (sudo rm -r $dir), and run this again."
	if ! { cmake -G Ninja -S "$root_dir" -B "$dir" "${options[@]}" &&
		cmake --build "$dir" --parallel "$(nproc)" ${targets[0]:+--target "${targets[@]}"}; } \
		>"$dir/build.log" 2>&1; then
		# What went wrong; with all of it for a compiler's error, which ninja puts before its end.
		grep -n -E -A 12 'FAILED:|CMake Error|error:' "$dir/build.log" | head -40 >&2
		die "building in $dir failed; what cmake and the compilers said is in $dir/build.log." \
			"If a package was updated or removed since the last build, remove $dir and try again."
	fi
}
