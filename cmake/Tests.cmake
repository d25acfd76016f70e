# Test and benchmark programs: targets `tests`, `benches` and `examples`, not built by default.
# `other-tests` are the tests but for those of the folders unit, sqlite and cxx.
#
# Every .c or .cpp file with a main() under test/ is a program, found by itself and put
# in the build folder at the same path.  The other .c files of its folder are
# linked into it, and those of test/lib into all; they are compiled once.  Nothing is
# listed by hand.
# Files and folders that are called after something left out of the library are left out, too:
# test/redis, test/unit/store/redis or redis_x.c without that store, test/unit/net without
# src/net, web_request.c without holdfast-web.  So is C++ without a compiler for it.
#
# A tree need not link the tests that test/run does not run there; the presets choose:
#   HF_TESTS_ELSEWHERE  folders that are left out
#   HF_TESTS_UNLESS     programs that have such a line are left out
#   HF_TESTS_COMPILED   folders that are compiled, for the compiler's warnings, but not linked;
#                       where this is set, so are the programs that HF_TESTS_UNLESS leaves out

# Two hundred programs, with the library in each: lld takes a tenth of a second for one, the usual linker
# two or three.  Installed programs use the usual one.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=lld HF_HAS_LLD)

add_custom_target(tests)
add_custom_target(other-tests)
add_custom_target(benches)
add_custom_target(examples)

if(TARGET holdfast)
    include(cmake/Next.cmake)
endif()

if(NOT TARGET holdfast-web)
    list(APPEND HF_LEFT_OUT web)
endif()

set(HF_SOURCES *.c)
if(CMAKE_CXX_COMPILER)
    list(APPEND HF_SOURCES *.cpp)
endif()

# The sources below `folder`: those that have a main(), those that HF_TESTS_UNLESS leaves out,
# and the rest.
function(hf_part folder ret_programs ret_left_out ret_parts)
    list(JOIN HF_LEFT_OUT "|" left_out)
    if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} OR IS_DIRECTORY ${folder})
        list(TRANSFORM HF_SOURCES PREPEND ${folder}/ OUTPUT_VARIABLE patterns)
        file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
    endif()
    set(programs "")
    set(unlinked "")
    set(parts "")
    if(left_out)
        list(FILTER files EXCLUDE REGEX
            "^${PROJECT_SOURCE_DIR}/(test|bench)/(.*/)?(${left_out})(/|_[^/]*$)")
    endif()
    foreach(file IN LISTS files)
        file(STRINGS ${file} main REGEX "^int main\\(" LIMIT_COUNT 1)
        if(main AND HF_TESTS_UNLESS)
            file(STRINGS ${file} unless REGEX "${HF_TESTS_UNLESS}" LIMIT_COUNT 1)
        endif()
        if(main AND unless)
            list(APPEND unlinked ${file})
        elseif(main)
            list(APPEND programs ${file})
        else()
            list(APPEND parts ${file})
        endif()
    endforeach()
    set(${ret_programs} ${programs} PARENT_SCOPE)
    set(${ret_left_out} ${unlinked} PARENT_SCOPE)
    set(${ret_parts} ${parts} PARENT_SCOPE)
endfunction()

# Include folders of `target`.
function(hf_includes target)
    target_include_directories(${target} PRIVATE
        include src test programs/view programs ${PROJECT_SOURCE_DIR} programs/cli
        ${PROJECT_BINARY_DIR}/embed
        ${HF_STORE_INCLUDES})
endfunction()

# Compiler options of `target`.  Sanitizers make the optimizer slow, and a test's own code is fast enough
# without it; except for the simulator, which runs only its own code.
function(hf_sees target)
    hf_includes(${target})
    target_link_libraries(${target} PRIVATE hf_flags)
    if(HF_SANITIZE AND NOT target MATCHES "^(hf_tests_|test-)sim")
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# Adds a program to the target `group` for each source below `folder` with a main(), linked with the
# other files and the given libraries.
function(hf_programs group folder)
    hf_part(${folder} programs left_out parts)
    if(left_out AND HF_TESTS_COMPILED)
        cmake_path(GET folder FILENAME name)
        hf_compiled(${group} ${name}_left_out ${left_out})
    endif()
    set(libraries ${ARGN})
    if(programs AND parts)
        cmake_path(GET folder FILENAME name)
        add_library(hf_${group}_${name} OBJECT EXCLUDE_FROM_ALL ${parts})
        hf_sees(hf_${group}_${name})
        list(PREPEND libraries hf_${group}_${name})
    endif()
    foreach(file IN LISTS programs)
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
            OUTPUT_VARIABLE path)
        cmake_path(REMOVE_EXTENSION path)
        cmake_path(GET path PARENT_PATH folder)
        cmake_path(GET path FILENAME name)
        string(REPLACE "/" "-" target ${path})
        add_executable(${target} EXCLUDE_FROM_ALL ${file})
        hf_sees(${target})
        # Tests that act as a server or make certificates link the libraries that ours only loads.
        target_link_libraries(${target} PRIVATE ${libraries} $<TARGET_NAME_IF_EXISTS:hf_view>
            holdfast_static -Wl,--as-needed ${HF_STORE_LOADED})
        if(HF_HAS_LLD)
            target_link_options(${target} PRIVATE -fuse-ld=lld)
        endif()
        set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
        add_dependencies(${group} ${target})
        if(group STREQUAL "tests" AND NOT path MATCHES "^test/(unit|sqlite|cxx)/")
            add_dependencies(other-tests ${target})
        endif()
    endforeach()
endfunction()

# Compiles files whose programs run elsewhere, for the compiler's warnings alone.
function(hf_compiled group name)
    add_library(hf_${group}_${name} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    hf_includes(hf_${group}_${name})
    target_link_libraries(hf_${group}_${name} PRIVATE hf_warnings)
    target_compile_options(hf_${group}_${name} PRIVATE -O0)
    add_dependencies(${group} hf_${group}_${name})
endfunction()

find_library(CMOCKA_LIBRARY cmocka)
if(CMOCKA_LIBRARY)
    hf_part(test/lib unused unused parts)
    add_library(hf_test_lib STATIC EXCLUDE_FROM_ALL ${parts})
    hf_sees(hf_test_lib)
    file(GLOB kinds CONFIGURE_DEPENDS LIST_DIRECTORIES ON test/*)
    list(REMOVE_ITEM kinds ${PROJECT_SOURCE_DIR}/test/lib)
    foreach(kind IN LISTS HF_TESTS_ELSEWHERE)
        list(REMOVE_ITEM kinds ${PROJECT_SOURCE_DIR}/test/${kind})
    endforeach()
    foreach(kind IN LISTS kinds)
        cmake_path(GET kind FILENAME name)
        if(name IN_LIST HF_TESTS_COMPILED)
            hf_part(${kind} programs left_out parts)
            hf_compiled(tests ${name} ${programs} ${left_out} ${parts})
        else()
            hf_programs(tests ${kind} hf_test_lib ${CMOCKA_LIBRARY})
        endif()
    endforeach()
endif()
# The fuzz target of holdfast-web links that program, but for its main().
if(TARGET test-fuzz-web_request)
    get_target_property(sources holdfast-web SOURCES)
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    get_target_property(folders holdfast-web INCLUDE_DIRECTORIES)
    target_sources(test-fuzz-web_request PRIVATE ${sources})
    target_include_directories(test-fuzz-web_request PRIVATE ${folders})
    target_link_libraries(test-fuzz-web_request PRIVATE PkgConfig::HF_web)
endif()
hf_programs(benches bench)

# Examples are built like a user's program: with the public header and the shared library.
list(TRANSFORM HF_SOURCES PREPEND examples/ OUTPUT_VARIABLE patterns)
file(GLOB programs CONFIGURE_DEPENDS ${patterns})
foreach(file IN LISTS programs)
    cmake_path(GET file STEM name)
    add_executable(example-${name} EXCLUDE_FROM_ALL ${file})
    target_link_libraries(example-${name} PRIVATE hf_flags holdfast_shared Threads::Threads)
    set_target_properties(example-${name} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    add_dependencies(examples example-${name})
endforeach()
