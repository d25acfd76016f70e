# Compiler flags.  All our targets link `hf_flags`; programs that link the library do not inherit them.
# `hf_warnings` is the part that does not influence the output.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported()

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
set(HF_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")

add_library(hf_warnings INTERFACE)
target_compile_definitions(hf_warnings INTERFACE _GNU_SOURCE)
target_compile_options(hf_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-std=c11> $<$<COMPILE_LANGUAGE:CXX>:-std=c++17>
    -Wall -Wextra -Wconversion -Wshadow -fvisibility=hidden
    -UNDEBUG # asserts stay on in release builds
)
if(HF_WERROR)
    target_compile_options(hf_warnings INTERFACE -Werror)
endif()

add_library(hf_flags INTERFACE)
target_link_libraries(hf_flags INTERFACE hf_warnings)

if(HF_SANITIZE)
    target_compile_options(hf_flags INTERFACE
        -fsanitize=${HF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(hf_flags INTERFACE -fsanitize=${HF_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Debian's compilers may define a lower level: undefine it first.
    target_compile_options(hf_flags INTERFACE -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER "HF_HAS${flag}" has)
        check_c_compiler_flag(${flag} ${has})
        if(${has})
            target_compile_options(hf_flags INTERFACE ${flag})
        endif()
    endforeach()
    target_link_options(hf_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
