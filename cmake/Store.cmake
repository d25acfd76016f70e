# hf_store(NAME [OPTIONAL] [PACKAGE package] [LINK target...] [PKGCONFIG module...])
#
# Adds src/store/NAME to the library.  PACKAGE is what find_package() must find,
# LINK the targets it gives, PKGCONFIG the same for those who link libholdfast.a
# by pkg-config.  OPTIONAL makes an option HF_STORE_<NAME>; in the code, the
# macro of that name is defined when the store is in.
set(HF_STORE_LIBRARIES "")
set(HF_STORE_PACKAGES "")
set(HF_STORE_PKGCONFIG "")

macro(hf_store name)
    cmake_parse_arguments(store "OPTIONAL" "PACKAGE" "LINK;PKGCONFIG" ${ARGN})
    string(TOUPPER "HF_STORE_${name}" store_macro)
    if(store_OPTIONAL)
        option(${store_macro} "The ${name}: store" ON)
    endif()
    if(NOT store_OPTIONAL OR ${store_macro})
        if(store_PACKAGE)
            find_package(${store_PACKAGE} REQUIRED)
        endif()
        file(GLOB store_sources CONFIGURE_DEPENDS src/store/${name}/*.c)
        file(GLOB store_texts CONFIGURE_DEPENDS
            src/store/${name}/*.sql src/store/${name}/*.lua)
        target_sources(hf_objects PRIVATE ${store_sources})
        hf_embed(hf_objects ${store_texts})
        target_compile_definitions(hf_objects PRIVATE ${store_macro}=1)
        target_link_libraries(hf_objects PRIVATE ${store_LINK})
        list(APPEND HF_STORE_LIBRARIES ${store_LINK})
        list(APPEND HF_STORE_PACKAGES ${store_PACKAGE})
        list(APPEND HF_STORE_PKGCONFIG ${store_PKGCONFIG})
    endif()
endmacro()
