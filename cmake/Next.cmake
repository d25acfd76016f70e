# holdfast-next: build/next/holdfast, a command as the next version could be.  It differs only in the
# layout number of every store, which is higher by one (HF_LAYOUT_BUMP in src/store/store.h).  Tests run
# both on one store.
#
# Only sources that name HF_LAYOUT_BUMP are compiled again; the linker takes the rest from
# libholdfast.a.  So no header but store.h may name it, or some objects would be missing.
get_target_property(all hf_objects SOURCES)
set(sources "")
foreach(file IN LISTS all)
    if(file MATCHES "/src/store/.*\\.c$")
        file(STRINGS ${file} bumped REGEX "HF_LAYOUT_BUMP" LIMIT_COUNT 1)
        if(bumped)
            list(APPEND sources ${file})
        endif()
    endif()
endforeach()
file(GLOB_RECURSE headers src/*.h)
list(REMOVE_ITEM headers ${PROJECT_SOURCE_DIR}/src/store/store.h)
foreach(file IN LISTS headers)
    file(STRINGS ${file} bumped REGEX "HF_LAYOUT_BUMP" LIMIT_COUNT 1)
    if(bumped)
        message(FATAL_ERROR "${file}: use HF_LAYOUT_BUMP in a source file; cmake/Next.cmake says why")
    endif()
endforeach()

add_executable(holdfast-next EXCLUDE_FROM_ALL ${sources} $<TARGET_OBJECTS:holdfast>)
add_dependencies(holdfast-next hf_objects) # headers made from texts
target_compile_definitions(holdfast-next PRIVATE HF_LAYOUT_BUMP=1)
target_include_directories(holdfast-next PRIVATE
    $<TARGET_PROPERTY:hf_objects,INCLUDE_DIRECTORIES>)
target_link_libraries(holdfast-next PRIVATE
    hf_view hf_flags holdfast_static ${HF_STORE_LIBRARIES})
set_target_properties(holdfast-next PROPERTIES POSITION_INDEPENDENT_CODE ON LINKER_LANGUAGE C
    OUTPUT_NAME holdfast RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/next)
add_dependencies(tests holdfast-next)
add_dependencies(other-tests holdfast-next)
