-- The rights that an account needs to use locks.  To break locks it needs the function hf_break_place
-- as well.
GRANT EXECUTE ON PROCEDURE hf_hello TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_renew TO @role@ //
GRANT EXECUTE ON FUNCTION hf_fetch TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_await TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_bye TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_expire_silent TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_sweep TO @role@ //
GRANT EXECUTE ON FUNCTION hf_enter TO @role@ //
GRANT EXECUTE ON FUNCTION hf_leave TO @role@ //
GRANT EXECUTE ON FUNCTION hf_read TO @role@ //
GRANT EXECUTE ON FUNCTION hf_downgrade TO @role@ //
GRANT EXECUTE ON FUNCTION hf_watch_line TO @role@ //
GRANT EXECUTE ON FUNCTION hf_ask TO @role@ //
GRANT EXECUTE ON FUNCTION hf_verify TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_list TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_overview TO @role@ //
GRANT EXECUTE ON FUNCTION hf_watch_store TO @role@ //
GRANT EXECUTE ON FUNCTION hf_keep_history TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_history TO @role@ //
GRANT EXECUTE ON PROCEDURE hf_check_fence TO @role@ //
