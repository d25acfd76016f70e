# hf_load(FOLDER NAME LIBRARY RET)
#
# src/FOLDER/NAME.list lists the headers and functions of LIBRARY, a file, that we use.  They are loaded
# when a URL needs them: NAME.h and NAME.c are generated from the list; see src/net/library.h.  RET gets
# the sources.  If HF_LINK_STORES says so there are none, and the library is linked: ON for all of them, as
# in a static program, or a list of names, as in a wheel.
#
# The library is loaded by its soname, because another version may have other structs.  Debian names its
# packages by the same rule: libpq5 has libpq.so.5.
set(HF_LINK_STORES OFF CACHE STRING
    "Link what servers need instead of loading it: ON, OFF, or some of openssl;hiredis;pq")
if(HF_LINK_STORES STREQUAL ON)
    set(HF_LINK_STORES openssl hiredis pq)
elseif(HF_LINK_STORES STREQUAL OFF)
    set(HF_LINK_STORES "")
endif()

function(hf_soname library ret)
    get_filename_component(library "${library}" REALPATH)
    execute_process(COMMAND ${CMAKE_READELF} -d ${library}
        OUTPUT_VARIABLE text ERROR_QUIET)
    if(NOT text MATCHES "SONAME[^[]*\\[([^]]+)\\]")
        message(FATAL_ERROR "${library} is no shared library, so that it cannot be "
            "loaded when it is needed; -DHF_LINK_STORES=ON links it")
    endif()
    set(${ret} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

function(hf_load folder name library ret)
    set(members "")
    set(names "")
    set(macros "")
    set(list src/${folder}/${name}.list)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(STRINGS ${list} includes REGEX "^#include ")
    file(STRINGS ${list} functions REGEX "^[?A-Za-z]")
    list(JOIN includes "\n" includes)
    foreach(entry IN LISTS functions)
        string(REPLACE "?" "" function ${entry}) # ?name: it may be missing
        string(APPEND members "    __typeof__(${function}) *${function};\n")
        string(APPEND names "    \"${entry}\",\n")
        string(APPEND macros "#define ${function} hf_${name}->${function}\n")
    endforeach()
    set(made ${PROJECT_BINARY_DIR}/embed/${folder}/${name})
    if(name IN_LIST HF_LINK_STORES)
        set(HF_LINKED ON)
    endif()
    configure_file(cmake/library.h.in ${made}.h @ONLY)
    if(NOT HF_LINKED)
        hf_soname(${library} file)
        string(REPLACE ".so." "" package ${file})
        configure_file(cmake/library.c.in ${made}.c @ONLY)
        set(${ret} ${made}.c PARENT_SCOPE)
    else()
        set(${ret} "" PARENT_SCOPE)
    endif()
endfunction()
