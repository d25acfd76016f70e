# hf_program(NAME [PACKAGE])
#
# holdfast-NAME, of the sources in programs/NAME, for a verb that is a program of its own.  With
# PACKAGE it needs a library that the command does without, and is left out where pkg-config does
# not know that.  HF_PROGRAMS has the names of those that are built.
set(HF_PROGRAMS "")
find_package(PkgConfig)

function(hf_program name)
    file(GLOB sources CONFIGURE_DEPENDS programs/${name}/*.c)
    file(GLOB assets CONFIGURE_DEPENDS programs/${name}/page/*)
    set(library "")
    if(ARGC GREATER 1)
        if(PKG_CONFIG_FOUND)
            pkg_check_modules(HF_${name} QUIET IMPORTED_TARGET ${ARGV1})
        endif()
        if(NOT HF_${name}_FOUND)
            message(STATUS "holdfast-${name} is left out: ${ARGV1} is missing")
            return()
        endif()
        set(library PkgConfig::HF_${name})
    endif()
    add_executable(holdfast-${name} ${sources})
    if(assets)
        hf_embed(holdfast-${name} ${assets})
    endif()
    target_include_directories(holdfast-${name} PRIVATE
        programs/${name} ${PROJECT_BINARY_DIR}/embed/programs/${name})
    target_link_libraries(holdfast-${name} PRIVATE
        hf_view hf_flags holdfast_static ${library})
    set_target_properties(holdfast-${name} PROPERTIES
        POSITION_INDEPENDENT_CODE ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    set(HF_PROGRAMS ${HF_PROGRAMS} holdfast-${name} PARENT_SCOPE)
endfunction()
