#include "userspace/cmd/command.h"
int sp_cmd_summary(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 1;
}
int sp_cmd_info(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 1;
}
