# hf_load(FOLDER NAME LIBRARY RET)
#
# src/FOLDER/NAME.list lists the headers and functions of LIBRARY, a file, that we use.  They are loaded
# when a URL needs them: NAME.h and NAME.c are generated from the list; see src/net/library.h.  RET gets
# the sources.  With HF_LINK_STORES there are none, and the library is linked, as for a static program.
#
# The library is loaded by its soname, because another version may have other structs.  Debian names its
# packages by the same rule: libpq5 has libpq.so.5.
option(HF_LINK_STORES "Link what servers need instead of loading it" OFF)

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
    configure_file(cmake/library.h.in ${made}.h @ONLY)
    if(NOT HF_LINK_STORES)
        hf_soname(${library} file)
        string(REPLACE ".so." "" package ${file})
        configure_file(cmake/library.c.in ${made}.c @ONLY)
        set(${ret} ${made}.c PARENT_SCOPE)
    else()
        set(${ret} "" PARENT_SCOPE)
    endif()
endfunction()
