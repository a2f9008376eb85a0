/* SPDX-License-Identifier: BSD-2-Clause */
/* cxx_other.cpp - the second file of cxx.cpp's program. */
#include "scope_profiler.hpp"

int other_file();

int other_file()
{
	SP_PROFILE_SCOPE("both files");
	return sp_region("both files");
}
