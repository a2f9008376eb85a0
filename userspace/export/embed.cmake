# Makes a header with the script and the style of flame graphs as constants.
#   cmake -DOUT=HEADER -DJS=FILE -DCSS=FILE -P embed.cmake
set(header "/* Made by embed.cmake. */\n")
foreach(part JS CSS)
	string(TOLOWER ${part} name)
	file(READ "${${part}}" bytes HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
	string(APPEND header "static const char sp_flamegraph_${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE "${OUT}" "${header}")
