/* SPDX-License-Identifier: BSD-2-Clause */
/* Includes the header and uses nothing of it: nothing may be left in the object. */
#include "usdt/sp_region.h"

unsigned only_data = 1;
