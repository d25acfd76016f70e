# hf_store(NAME [OPTIONAL] [NET] [SERVED] [PACKAGE package] [LINK target...]
#          [LIBRARY name...] [LOAD library] [HEADER header])
#
# Adds src/store/NAME to the library.  PACKAGE is for find_package(), LINK has its targets; LIBRARY are
# the libraries (-l) for programs that link libholdfast.a by pkg-config.  LOAD: a library without a
# package, which is loaded when a URL needs it (see Load.cmake); its HEADER may be in a folder NAMEd
# after the store.  NET: it talks to a server, and needs src/net, OpenSSL and src/store/remote.  SERVED:
# it uses src/store/served.
# OPTIONAL makes an option HF_STORE_<NAME>.  The macro of that name is defined only in
# src/store/store.c, if the store is built, so that a change of the option does not recompile the rest.
# HF_LEFT_OUT has the names of stores that are not built.
set(HF_STORE_LIBRARIES "")
set(HF_STORE_PACKAGES "")
set(HF_STORE_LINKS "")
set(HF_STORE_INCLUDES "") # folders of headers, for tests that look inside
set(HF_STORE_LOADED "")   # what is loaded, for tests that use it, too
set(HF_LEFT_OUT net remote served)

macro(hf_link package targets names)
    if(NOT "${package}" STREQUAL "")
        list(APPEND HF_STORE_PACKAGES ${package})
    endif()
    list(APPEND HF_STORE_LIBRARIES ${targets})
    list(APPEND HF_STORE_LINKS ${names})
endmacro()

# src/net and src/store/remote, once for all stores.
macro(hf_net)
    if(net IN_LIST HF_LEFT_OUT)
        list(REMOVE_ITEM HF_LEFT_OUT net remote)
        file(GLOB net_sources CONFIGURE_DEPENDS src/net/*.c src/store/remote/*.c)
        if(HF_STATIC) # dlopen() has no place in it
            list(FILTER net_sources EXCLUDE REGEX "/net/library\\.c$")
        endif()
        target_sources(hf_objects PRIVATE ${net_sources})
        find_package(OpenSSL REQUIRED)
        target_link_libraries(hf_objects PRIVATE OpenSSL::SSL) # its headers
        hf_load(net openssl ${OPENSSL_SSL_LIBRARY} openssl_sources)
        target_sources(hf_objects PRIVATE ${openssl_sources})
        list(APPEND HF_STORE_LOADED OpenSSL::SSL)
        if(openssl IN_LIST HF_LINK_STORES)
            hf_link(OpenSSL OpenSSL::SSL "ssl;crypto")
        endif()
    endif()
endmacro()

# src/store/served, also once.
macro(hf_served)
    if(served IN_LIST HF_LEFT_OUT)
        list(REMOVE_ITEM HF_LEFT_OUT served)
        file(GLOB served_sources CONFIGURE_DEPENDS src/store/served/*.c)
        target_sources(hf_objects PRIVATE ${served_sources})
    endif()
endmacro()

macro(hf_store name)
    cmake_parse_arguments(store "OPTIONAL;NET;SERVED" "PACKAGE;LOAD;HEADER" "LINK;LIBRARY" ${ARGN})
    string(TOUPPER "HF_STORE_${name}" store_macro)
    if(store_OPTIONAL)
        option(${store_macro} "The ${name}: store" ON)
    endif()
    if(NOT store_OPTIONAL OR ${store_macro})
        file(GLOB_RECURSE store_sources CONFIGURE_DEPENDS src/store/${name}/*.c)
        file(GLOB_RECURSE store_texts CONFIGURE_DEPENDS
            src/store/${name}/*.sql src/store/${name}/*.lua)
        hf_embed(hf_objects ${store_texts})
        set_property(SOURCE src/store/store.c APPEND PROPERTY
            COMPILE_DEFINITIONS ${store_macro}=1)
        if(store_NET)
            hf_net()
        endif()
        if(store_SERVED)
            hf_served()
        endif()
        if(store_LINK)
            find_package(${store_PACKAGE} REQUIRED)
            target_link_libraries(hf_objects PRIVATE ${store_LINK}) # its headers
            hf_link("${store_PACKAGE}" "${store_LINK}" "${store_LIBRARY}")
        endif()
        if(store_LOAD)
            find_library(${store_macro}_LIBRARY ${store_LOAD} REQUIRED)
            hf_load(store/${name} ${store_LOAD} ${${store_macro}_LIBRARY} loaded_sources)
            list(APPEND store_sources ${loaded_sources})
            list(APPEND HF_STORE_LOADED ${store_LOAD})
            if(store_LOAD IN_LIST HF_LINK_STORES)
                hf_link("" "${${store_macro}_LIBRARY}" "${store_LOAD}")
            endif()
        endif()
        if(store_HEADER)
            find_path(${store_macro}_INCLUDE ${store_HEADER}
                PATH_SUFFIXES ${name} ${name}ql REQUIRED)
            set_property(SOURCE ${store_sources} APPEND PROPERTY
                INCLUDE_DIRECTORIES ${${store_macro}_INCLUDE})
            list(APPEND HF_STORE_INCLUDES ${${store_macro}_INCLUDE})
        endif()
        target_sources(hf_objects PRIVATE ${store_sources})
    else()
        list(APPEND HF_LEFT_OUT ${name})
    endif()
endmacro()
