# hf_program(NAME PACKAGE)
#
# holdfast-NAME, of the sources in the folder NAME: a program that needs what the command is
# not to need.  It is left out where pkg-config does not know PACKAGE, or there are no sources.
# HF_PROGRAMS has the names of those that are built.
set(HF_PROGRAMS "")
find_package(PkgConfig)

function(hf_program name package)
    file(GLOB sources CONFIGURE_DEPENDS ${name}/*.c)
    file(GLOB assets CONFIGURE_DEPENDS ${name}/page/*)
    if(NOT sources OR NOT PKG_CONFIG_FOUND)
        return()
    endif()
    pkg_check_modules(HF_${name} QUIET IMPORTED_TARGET ${package})
    if(NOT HF_${name}_FOUND)
        message(STATUS "holdfast-${name} is left out: ${package} is missing")
        return()
    endif()
    add_executable(holdfast-${name} ${sources})
    if(assets)
        hf_embed(holdfast-${name} ${assets})
    endif()
    target_include_directories(holdfast-${name} PRIVATE
        ${name} ${PROJECT_BINARY_DIR}/embed/${name})
    target_link_libraries(holdfast-${name} PRIVATE
        hf_view hf_flags holdfast_static PkgConfig::HF_${name})
    set_target_properties(holdfast-${name} PROPERTIES
        POSITION_INDEPENDENT_CODE ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    set(HF_PROGRAMS ${HF_PROGRAMS} holdfast-${name} PARENT_SCOPE)
endfunction()
