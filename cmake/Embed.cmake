# Embeds text files of a target as C strings: src/store/x/y.sql becomes store/x/y.sql.h with the string
# `y_sql`, and programs/web/page/y.js becomes web/page/y.js.h with `y_js`.
function(hf_embed target)
    foreach(file IN LISTS ARGN)
        set(base ${PROJECT_SOURCE_DIR}/src)
        cmake_path(IS_PREFIX base ${file} NORMALIZE inside)
        if(NOT inside)
            set(base ${PROJECT_SOURCE_DIR})
        endif()
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${base} OUTPUT_VARIABLE path)
        cmake_path(GET file FILENAME symbol)
        string(MAKE_C_IDENTIFIER ${symbol} symbol)
        set(header ${PROJECT_BINARY_DIR}/embed/${path}.h)
        cmake_path(GET header PARENT_PATH folder)
        file(MAKE_DIRECTORY ${folder})
        add_custom_command(OUTPUT ${header}
            COMMAND ${PROJECT_SOURCE_DIR}/tools/embed ${file} ${symbol} > ${header}
            DEPENDS ${file} ${PROJECT_SOURCE_DIR}/tools/embed
            COMMENT "Embedding ${path}" VERBATIM)
        target_sources(${target} PRIVATE ${header})
    endforeach()
endfunction()
