// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_create.c - groups of a new file, and the properties of what is in it.
 *
 * Invariant: nothing in a file says when it was written, but the facts in it.
 */
#include "formats/h5_create.h"

#include <string.h>

hid_t sp_h5_untimed(hid_t class)
{
	hid_t properties = H5Pcreate(class);

	if (properties >= 0 && H5Pset_obj_track_times(properties, false) < 0)
		sp_h5_close(&properties);
	return properties;
}

hid_t sp_h5_open_group(hid_t file, const char *path)
{
	sp_cleanup_h5 hid_t properties = sp_h5_untimed(H5P_GROUP_CREATE);
	hid_t group = H5Gopen2(file, "/", H5P_DEFAULT);

	while (group >= 0 && *path) {
		sp_cleanup_h5 hid_t parent = group;
		size_t size = strcspn(path, "/");
		char name[64];
		htri_t exists;

		group = -1;
		if (size >= sizeof(name))
			return -1;
		if (!size) { /* of the slashes */
			group = parent;
			parent = -1;
			path++;
			continue;
		}
		memcpy(name, path, size);
		name[size] = '\0';
		path += size;
		exists = H5Lexists(parent, name, H5P_DEFAULT);
		if (exists > 0)
			group = H5Gopen2(parent, name, H5P_DEFAULT);
		else if (!exists)
			group = H5Gcreate2(parent, name, H5P_DEFAULT, properties, H5P_DEFAULT);
	}
	return group;
}
