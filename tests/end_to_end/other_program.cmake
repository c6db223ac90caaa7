# cmake -DROOT=dir -DLIST=file -DOTHER=dir -DOUTPUT=file.cpp -P other_program.cmake: the program of ROOT, copied to OTHER and changed by a
# comment, as C++ data.

file(STRINGS ${LIST} sources)
file(REMOVE_RECURSE ${OTHER})
set(copies "")
foreach(source IN LISTS sources)
  file(RELATIVE_PATH path ${ROOT} ${source})
  configure_file(${source} ${OTHER}/${path} COPYONLY)
  list(APPEND copies ${OTHER}/${path})
endforeach()
file(APPEND ${OTHER}/nursery.py "# Of another version.\n")
list(JOIN copies "\n" list)
file(WRITE ${OTHER}.list "${list}\n")
set(ROOT ${OTHER})
set(LIST ${OTHER}.list)
include(${CMAKE_CURRENT_LIST_DIR}/../../bin/kernel/embed.cmake)
