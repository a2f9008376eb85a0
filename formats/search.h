/* SPDX-License-Identifier: BSD-2-Clause
 *
 * search.h - binary search in what is sorted.
 *
 *   size_t first = sp_search(n, i, items[i].key < key);   the first whose key is not below
 */
#ifndef SP_FORMATS_SEARCH_H
#define SP_FORMATS_SEARCH_H

#include <stddef.h>

/* The number of elements, of @n, for whose index @i the expression @is_before holds. They must be
 * the first ones. */
#define sp_search(n, i, is_before) \
	({ \
		size_t low_ = 0, high_ = (n); \
		while (low_ < high_) { \
			size_t i = low_ + (high_ - low_) / 2; \
			if (is_before) \
				low_ = i + 1; \
			else \
				high_ = i; \
		} \
		low_; \
	})

#endif
